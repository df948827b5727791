// Bulk transfers over a link that all of them share, in ns-3: the scenario of dumbbell.yaml beside this
// file.
//
// Senders hang on one switch and receivers on another by point-to-point links, and the switches on each
// other. Every port of a switch has a buffer that ends. No queue disc is installed.
//
// Prints one JSON object: goodput until the last transfer has ended, and all drops and retransmission
// timeouts.

#include "ns3_parts.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace
{
constexpr uint32_t WRITE_BYTES = 1 << 20;
constexpr double START_NS_MAX = 20'000;

// Senders are the hosts from 0 on; the receivers follow.
class Dumbbell
{
  public:
    Dumbbell(uint32_t pairs, uint32_t mtu)
    {
        m_hosts.Create(2 * pairs);
        InstallInternet(m_hosts);
        NetDeviceContainer trunk = Link(mtu).Install(m_westNode, m_eastNode);
        for (uint32_t side : {0, 1})
        {
            Bound(trunk.Get(side));
            m_switches[side].Receive(trunk.Get(side));
        }
        for (uint32_t host = 0; host < 2 * pairs; host++)
        {
            const uint32_t side = host / pairs;
            const Ptr<Node> node = side == 0 ? m_westNode : m_eastNode;
            NetDeviceContainer ends = Link(mtu).Install(m_hosts.Get(host), node);
            Bound(ends.Get(1));
            m_switches[side].Attach(ends.Get(1), host);
            m_switches[1 - side].Route(trunk.Get(1 - side), host);
            SetAddress(m_hosts.Get(host), host, ends.Get(0));
        }
    }

    Ptr<Node> Host(uint32_t index) const
    {
        return m_hosts.Get(index);
    }

  private:
    NodeContainer m_hosts;
    Ptr<Node> m_westNode = CreateObject<Node>();
    Ptr<Node> m_eastNode = CreateObject<Node>();
    Switch m_switches[2];
};

class Sender
{
  public:
    Sender(Ptr<Node> node, uint64_t bytes)
        : m_left(bytes),
          m_socket(Socket::CreateSocket(node, TcpSocketFactory::GetTypeId()))
    {
        m_socket->SetConnectCallback(
            Callback<void, Ptr<Socket>>([this](Ptr<Socket>) { Write(); }),
            MakeNullCallback<void, Ptr<Socket>>());
        m_socket->SetSendCallback(
            Callback<void, Ptr<Socket>, uint32_t>([this](Ptr<Socket>, uint32_t) { Write(); }));
        m_socket->TraceConnectWithoutContext("RTO", MakeCallback(&CountTimeout));
    }

    void Connect(Ipv4Address receiver)
    {
        m_socket->Connect(InetSocketAddress(receiver, PORT));
    }

  private:
    void Write()
    {
        // Large writes: there is room for one less often than for a segment.
        while (m_left > 0)
        {
            const auto bytes = static_cast<uint32_t>(std::min<uint64_t>(m_left, WRITE_BYTES));
            if (m_socket->GetTxAvailable() < bytes)
            {
                return;
            }
            m_socket->Send(Create<Packet>(bytes));
            m_left -= bytes;
        }
    }

    uint64_t m_left;
    Ptr<Socket> m_socket;
};

class Receiver
{
  public:
    Receiver(Ptr<Node> node, uint64_t bytes, uint32_t& transfersLeft)
        : m_left(bytes),
          m_transfersLeft(transfersLeft)
    {
        m_listener = Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
        m_listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
        m_listener->Listen();
        m_listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                      MakeCallback(&Receiver::Accept, this));
    }

  private:
    void Accept(Ptr<Socket> socket, const Address&)
    {
        socket->SetRecvCallback(MakeCallback(&Receiver::Receive, this));
    }

    void Receive(Ptr<Socket> socket)
    {
        while (Ptr<Packet> packet = socket->Recv())
        {
            m_left -= packet->GetSize();
            if (m_left == 0 && --m_transfersLeft == 0)
            {
                Simulator::Stop();
            }
        }
    }

    uint64_t m_left;
    uint32_t& m_transfersLeft;
    Ptr<Socket> m_listener;
};
} // namespace

int
main(int argc, char** argv)
{
    uint32_t pairs = 4;
    uint32_t mtu = 9000;
    uint32_t packets = 10'000;
    uint32_t seed = 1;
    CommandLine options(__FILE__);
    options.AddValue("pairs", "number of senders, and of receivers", pairs);
    options.AddValue("mtu", "bytes of an IP packet", mtu);
    options.AddValue("packets", "full segments of each transfer", packets);
    options.AddValue("seed", "of the senders' start", seed);
    options.Parse(argc, argv);

    ConfigureTcp(mtu);
    RngSeedManager::SetSeed(seed);
    Dumbbell dumbbell(pairs, mtu);
    const uint64_t bytes = uint64_t{packets} * (mtu - HEADER_BYTES);
    uint32_t transfersLeft = pairs;
    Ptr<UniformRandomVariable> start = CreateObject<UniformRandomVariable>();
    start->SetAttribute("Max", DoubleValue(START_NS_MAX));
    std::vector<std::unique_ptr<Sender>> senders;
    std::vector<std::unique_ptr<Receiver>> receivers;
    for (uint32_t pair = 0; pair < pairs; pair++)
    {
        receivers.push_back(
            std::make_unique<Receiver>(dumbbell.Host(pairs + pair), bytes, transfersLeft));
        senders.push_back(std::make_unique<Sender>(dumbbell.Host(pair), bytes));
        Simulator::Schedule(NanoSeconds(start->GetInteger()),
                            &Sender::Connect,
                            senders.back().get(),
                            AddressOf(pairs + pair));
    }
    Simulator::Run();

    std::printf("{\"goodput_mbps\": %.3f, \"drops\": %lu, \"timeouts\": %lu}\n",
                8.0 * bytes * pairs / Simulator::Now().GetMicroSeconds(),
                drops,
                timeouts);
    Simulator::Destroy();
    return EXIT_SUCCESS;
}
