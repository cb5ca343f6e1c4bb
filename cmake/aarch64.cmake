# Builds for aarch64 on another machine (preset "aarch64"), with Debian's cross compiler and the
# libraries that scripts/aarch64-sysroot unpacks; what is built runs under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

cmake_path(SET sysroot NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../build/aarch64-sysroot)
if(NOT EXISTS ${sysroot}/unpacked)
  message(FATAL_ERROR "The libraries for aarch64 are missing: run scripts/aarch64-sysroot")
endif()
set(CMAKE_SYSROOT ${sysroot})
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${sysroot})

# Programs are this machine's; what is built with, the other's.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${sysroot})
set(ENV{PKG_CONFIG_LIBDIR}
    ${sysroot}/usr/lib/aarch64-linux-gnu/pkgconfig:${sysroot}/usr/share/pkgconfig)
