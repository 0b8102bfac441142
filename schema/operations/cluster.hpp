// What is told of a team on several nodes.
#pragma once

#include "schema/operations/record.hpp"

namespace inbox_poller::operations {

/// A node as this one sees it.
struct Node {
  Text node, version;
  bool leads = false;
  long long queued = 0;
  long long oldest_ms = 0, heard_ms = 0;
  Texts members;
};
BOOST_DESCRIBE_STRUCT(Node, (), (node, version, leads, queued, oldest_ms, heard_ms, members))

/// Messages between nodes of one stream that are not settled.
struct NodeMail {
  OneOf<"out", "in"> direction;
  Text stream;
  long long waiting = 0, put = 0, there = 0;
  long long oldest_ms = 0;
};
BOOST_DESCRIBE_STRUCT(NodeMail, (), (direction, stream, waiting, put, there, oldest_ms))

struct Cluster {
  Text node, id, redis_url;
  Text leader;
  long long epoch = 0;
  bool leads = false;
  Text trouble;
  long long trouble_since_ms = 0;
  long long round_trip_us = 0;  // to Redis, the median of the last five beats; 0: none yet
  Text full;
  Texts worries;
  std::vector<Node> nodes;
  std::vector<NodeMail> mail;
};
BOOST_DESCRIBE_STRUCT(Cluster, (), (node, id, redis_url, leader, epoch, leads, trouble, trouble_since_ms, round_trip_us, full, worries, nodes, mail))

}  // namespace inbox_poller::operations
