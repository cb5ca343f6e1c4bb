# Sanitizes (CASCADE_SANITIZE) the folders that are added after this file is included.
if(NOT CASCADE_SANITIZE)
  return()
endif()

add_compile_options(-fsanitize=${CASCADE_SANITIZE} -fno-sanitize-recover=all
                    -fno-omit-frame-pointer)
add_link_options(-fsanitize=${CASCADE_SANITIZE})
if(CASCADE_SANITIZE MATCHES "thread")
  add_compile_options(-Wno-tsan)
endif()
if(NOT CASCADE_SANITIZE_ALL)
  # A quick build. Checks of each pointer double what a source takes to compile, and AddressSanitizer
  # looks at the same accesses; the build type's own options are those of the kernels, see above.
  add_compile_options(-O1 -g1 -UNDEBUG)
  set(quick_sanitizer_options -fno-sanitize=null,alignment,object-size,pointer-overflow,vptr)
  if(CASCADE_SANITIZE MATCHES "undefined")
    add_compile_options(${quick_sanitizer_options})
  endif()
endif()
