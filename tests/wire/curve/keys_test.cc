// CURVE keys, their files, and who may connect.
#include <gtest/gtest.h>

#include "wire/curve/allow_list.h"
#include "wire/curve/key_pair.h"

namespace cascade::curve {
namespace {

TEST(CurveKeys, are_forty_characters_of_z85) {
  EXPECT_TRUE(is_key("rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"));  // from ZeroMQ's manual
  EXPECT_TRUE(is_key(std::string(40, '0')));
  for (const std::string& text :
       {std::string(), std::string(39, '0'), std::string(41, '0'), std::string(40, '~'),
        std::string(40, '\0'), std::string(40, '"'), std::string(40, '#')}) {
    EXPECT_FALSE(is_key(text)) << text;
  }
}

TEST(CurveKeys, that_are_new_differ_and_come_back_from_their_file) {
  const auto first = new_key_pair(), second = new_key_pair();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(first->secret_key, second->secret_key);
  EXPECT_TRUE(is_key(first->public_key));
  const auto read = parse_key_file(key_file_text(*first));
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(read->public_key, first->public_key);
  EXPECT_EQ(read->secret_key, first->secret_key);
}

// One random key in 85 would begin with '-', as an option does.
TEST(CurveKeys, that_are_new_look_like_no_option) {
  for (int i = 0; i < 1000; ++i) {
    const auto keys = new_key_pair();
    ASSERT_TRUE(keys.ok());
    ASSERT_NE(keys->public_key.front(), '-');
  }
}

TEST(CurveKeys, of_files_that_are_wrong_are_refused_by_name) {
  const auto keys = new_key_pair(), others = new_key_pair();
  ASSERT_TRUE(keys.ok() && others.ok());
  const auto field_of = [](const std::string& text) {
    const auto read = parse_key_file(text);
    return read.ok() ? "" : read.error().field;
  };
  EXPECT_EQ(field_of(""), "public-key");
  EXPECT_EQ(field_of("public-key = \"" + keys->public_key + "\"\n"), "secret-key");
  EXPECT_EQ(field_of("public-key = \"short\"\nsecret-key = \"" + keys->secret_key + "\""),
            "public-key");
  EXPECT_EQ(field_of("public-key = " + keys->public_key), "public-key");
  EXPECT_EQ(field_of(key_file_text({others->public_key, keys->secret_key})), "public-key");
  EXPECT_EQ(field_of("curve\r\n\tpublic-key=\"" + keys->public_key + "\"\r\n\tsecret-key =\"" +
                     keys->secret_key + "\"\r\n"),
            "");
}

TEST(AllowList, gives_each_key_a_tenant) {
  const auto alice = new_key_pair(), bob = new_key_pair();
  ASSERT_TRUE(alice.ok() && bob.ok());
  const std::string text = "alice " + alice->public_key + "\nbob " + bob->public_key + "\n";
  const auto list = AllowList::parse(text);
  ASSERT_TRUE(list.ok()) << list.error().to_string();
  EXPECT_EQ(list->tenant_of(alice->public_key), "alice");
  EXPECT_EQ(list->tenant_of(bob->public_key), "bob");
  EXPECT_EQ(list->tenant_of(alice->secret_key), std::nullopt);
  EXPECT_FALSE(AllowList::parse(text + "bob " + alice->public_key).ok());
  EXPECT_FALSE(AllowList::parse(text + "bob key").ok());
  EXPECT_TRUE(AllowList::parse("# none\n")->empty());
}

}  // namespace
}  // namespace cascade::curve
