// Asio's own code, compiled once (BOOST_ASIO_SEPARATE_COMPILATION): every other file includes only declarations.
#include <boost/asio/impl/src.hpp>
