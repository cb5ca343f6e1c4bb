# The Debian packages. They take what was installed for the prefix /usr.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME cascade)
set(CPACK_PACKAGE_VENDOR "Cascade")
set(CPACK_PACKAGE_CONTACT "Cascade maintainers <maintainers@cascade.example.org>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL daemon dev python)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_SOURCE_DIR}/arrange_files.cmake)

set(CPACK_DEBIAN_DAEMON_PACKAGE_NAME cascaded)
set(CPACK_DEBIAN_DAEMON_PACKAGE_SECTION net)
set(CPACK_DEBIAN_DAEMON_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_DAEMON_PACKAGE_DEPENDS "adduser, init-system-helpers (>= 1.54~)")
set(CPACK_COMPONENT_DAEMON_DESCRIPTION "LLM inference daemon that reuses what it computed
Serves one model on a machine without a GPU. What a generation computed is
kept, also over restarts, and later requests reuse it, bit for bit.

With cascadectl, a client for terminals and scripts, and a small demo model.")
set(CPACK_DEBIAN_DAEMON_DESCRIPTION ${CPACK_COMPONENT_DAEMON_DESCRIPTION})
set(debian ${CMAKE_CURRENT_SOURCE_DIR}/debian)
set(CPACK_DEBIAN_DAEMON_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_DAEMON_PACKAGE_CONTROL_EXTRA
    ${debian}/conffiles ${debian}/postinst ${debian}/prerm ${debian}/postrm)

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libcascade-client-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libzmq3-dev, libspdlog-dev, libssl-dev")
set(CPACK_DEBIAN_DEV_DESCRIPTION "C++ client of the Cascade LLM inference daemon
A static library, its headers and a CMake package, cascade_client.")
set(CPACK_COMPONENT_DEV_DESCRIPTION ${CPACK_DEBIAN_DEV_DESCRIPTION})

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-cascade-llm)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= 3.11), python3-zmq, python3-msgpack")
set(CPACK_DEBIAN_PYTHON_DESCRIPTION "Python client of the Cascade LLM inference daemon
Typed, with and without asyncio.")
set(CPACK_COMPONENT_PYTHON_DESCRIPTION ${CPACK_DEBIAN_PYTHON_DESCRIPTION})
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${debian}/python/postinst ${debian}/python/prerm)
include(CPack)
