# ccache keeps what was compiled, so that a clone in another folder, or the build with sanitizers,
# takes what an earlier build compiled already. Set before the first target.

# No result depends on where the source tree lies: paths below it are relative in __FILE__ and in
# debugging information. Debuggers find the sources when they are started in its root.
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)

find_program(CCACHE ccache)
if(CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
endif()
