// A model as GET /v1/models describes it.
#include "wire/openai/reply.h"

#include <gtest/gtest.h>

namespace cascade::openai {
namespace {

TEST(EncodeModel, gives_each_model_its_own_types) {
  wire::StatusReply status;
  status.weight_type = "bf16";
  status.kv_type = "int8";
  wire::ModelInfo info;
  info.name = "m";
  info.weight_type = "q4k and q6k";
  const auto types = [&] { return encode_model(info, status, 7)["meta"]["weight_type"]; };
  EXPECT_EQ(types(), "q4k and q6k");
  info.weight_type.clear();
  EXPECT_FALSE(encode_model(info, status, 7)["meta"].contains("weight_type"));
  info.is_default = true;
  EXPECT_EQ(types(), "bf16") << "as it was loaded, whatever became of its files";
}

}  // namespace
}  // namespace cascade::openai
