// What all scenarios of this folder share in ns-3: TCP, links, ports, switches, counters.

#pragma once

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <algorithm>
#include <vector>

using namespace ns3;

namespace
{
constexpr uint32_t PORT_BUFFER_BYTES = 512'000;
constexpr uint32_t HEADER_BYTES = 52; // IPv4 and TCP with timestamps
constexpr uint16_t PORT = 5000;
const Ipv4Mask NETMASK("255.255.0.0");

uint64_t drops = 0;
uint64_t timeouts = 0;

void
CountDrop(Ptr<const Packet>)
{
    drops++;
}

// RFC 6298 (5.5) doubles the RTO at a timeout. Nothing else does here: round trips are below the
// minimum RTO, which every sample restores.
void
CountTimeout(Time before, Time after)
{
    timeouts += after == before + before;
}

void
ConfigureTcp(uint32_t mtu)
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpNewReno"));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MicroSeconds(1)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(mtu - HEADER_BYTES));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(6 << 20));
    // Room for a block of the incast beside the last one's unacknowledged end.
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(8 << 20));
}

// The host with this number: from 0, in the last two bytes of its address.
inline Ipv4Address
AddressOf(uint32_t host)
{
    return Ipv4Address((10U << 24) + 1 + host);
}

inline PointToPointHelper
Link(uint32_t mtu)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
    link.SetDeviceAttribute("Mtu", UintegerValue(mtu));
    link.SetChannelAttribute("Delay", TimeValue(MicroSeconds(2)));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1000000p"));
    return link;
}

// Bounds the queue of a port, and counts what it drops.
inline void
Bound(Ptr<NetDevice> device)
{
    const auto port = DynamicCast<PointToPointNetDevice>(device);
    port->GetQueue()->SetMaxSize(QueueSize(QueueSizeUnit::BYTES, PORT_BUFFER_BYTES));
    port->GetQueue()->TraceConnectWithoutContext("Drop", MakeCallback(&CountDrop));
}

inline void
InstallInternet(const NodeContainer& hosts)
{
    InternetStackHelper internet;
    internet.SetIpv6StackInstall(false);
    internet.Install(hosts);
}

inline void
SetAddress(Ptr<Node> node, uint32_t host, Ptr<NetDevice> device)
{
    Ptr<Ipv4> ipv4 = node->GetObject<Ipv4>();
    const uint32_t interface = ipv4->AddInterface(device);
    ipv4->AddAddress(interface, Ipv4InterfaceAddress(AddressOf(host), NETMASK));
    ipv4->SetUp(interface);
}

// Forwards IPv4 packets by the number of the host in their destination, and has no IP stack, which is the
// least work that ns-3 can do for a switch.
class Switch
{
  public:
    // The port leads to this host.
    void Attach(Ptr<NetDevice> port, uint32_t host)
    {
        Route(port, host);
        Receive(port);
    }

    // Packets for this host leave by the port.
    void Route(Ptr<NetDevice> port, uint32_t host)
    {
        m_ports.resize(std::max<size_t>(m_ports.size(), host + 1));
        m_ports[host] = port;
    }

    // Packets come by the port.
    void Receive(Ptr<NetDevice> port)
    {
        port->GetNode()->RegisterProtocolHandler(MakeCallback(&Switch::Forward, this),
                                                 Ipv4L3Protocol::PROT_NUMBER,
                                                 port);
    }

  private:
    void Forward(Ptr<NetDevice>,
                 Ptr<const Packet> packet,
                 uint16_t protocol,
                 const Address&,
                 const Address&,
                 NetDevice::PacketType)
    {
        uint8_t header[20]; // RFC 791: the destination is the last word
        packet->CopyData(header, sizeof header);
        const Ptr<NetDevice>& port = m_ports[(header[18] << 8 | header[19]) - 1];
        port->Send(packet->Copy(), port->GetBroadcast(), protocol);
    }

    std::vector<Ptr<NetDevice>> m_ports;
};
} // namespace
