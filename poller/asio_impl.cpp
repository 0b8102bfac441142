// Asio's implementation, compiled once (BOOST_ASIO_SEPARATE_COMPILATION); all other files include only declarations.
#include <boost/asio/impl/src.hpp>
