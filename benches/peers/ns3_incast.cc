// Synchronized reads through one drop-tail port, in ns-3: the scenario of study.yaml beside this file.
//
// One client and n servers hang on a switch by point-to-point links. In each iteration the client
// sends a request on every connection, every server answers with a block, and the client goes on
// when all blocks are complete. The switch forwards IPv4 packets by their destination and has no IP
// stack, which is the least work that ns-3 can do for a switch. No queue disc is installed.
//
// Prints one JSON object: goodput, and drops and retransmission timeouts over all iterations.

#include "ns3_parts.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace
{
constexpr uint32_t REQUEST_BYTES = 64;
constexpr uint32_t BLOCK_BYTES = 4'000'000;
constexpr double JITTER_NS_MAX = 20'000;

uint32_t
ReadAll(Ptr<Socket> socket)
{
    uint32_t bytes = 0;
    while (Ptr<Packet> packet = socket->Recv())
    {
        bytes += packet->GetSize();
    }
    return bytes;
}

class Server
{
  public:
    explicit Server(Ptr<Node> node)
    {
        Ptr<Socket> listener = Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
        listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
        listener->Listen();
        listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                    MakeCallback(&Server::Accept, this));
        m_jitter->SetAttribute("Max", DoubleValue(JITTER_NS_MAX));
    }

  private:
    void Accept(Ptr<Socket> socket, const Address&)
    {
        socket->SetRecvCallback(MakeCallback(&Server::Receive, this));
        socket->TraceConnectWithoutContext("RTO", MakeCallback(&CountTimeout));
    }

    void Receive(Ptr<Socket> socket)
    {
        for (m_requested += ReadAll(socket); m_requested >= REQUEST_BYTES;
             m_requested -= REQUEST_BYTES)
        {
            Simulator::Schedule(NanoSeconds(m_jitter->GetInteger()), &Server::Answer, socket);
        }
    }

    static void Answer(Ptr<Socket> socket)
    {
        NS_ABORT_UNLESS(socket->Send(Create<Packet>(BLOCK_BYTES)) == int(BLOCK_BYTES));
    }

    Ptr<UniformRandomVariable> m_jitter = CreateObject<UniformRandomVariable>();
    uint32_t m_requested = 0;
};

class Client
{
  public:
    Client(Ptr<Node> node, uint32_t iterations)
        : m_node(node),
          m_iterationsLeft(iterations)
    {
    }

    void Connect(Ipv4Address server)
    {
        Ptr<Socket> socket = Socket::CreateSocket(m_node, TcpSocketFactory::GetTypeId());
        const auto index = static_cast<uint32_t>(m_reads.size());
        m_reads.push_back({socket, 0});
        socket->SetConnectCallback(MakeCallback(&Client::Connected, this),
                                   MakeNullCallback<void, Ptr<Socket>>());
        socket->SetRecvCallback(
            Callback<void, Ptr<Socket>>([this, index](Ptr<Socket>) { Receive(index); }));
        socket->Connect(InetSocketAddress(server, PORT));
    }

    Time Busy() const
    {
        return m_busy;
    }

  private:
    struct Read
    {
        Ptr<Socket> socket;
        uint32_t bytes;
    };

    void Connected(Ptr<Socket>)
    {
        if (++m_connected == m_reads.size())
        {
            Ask();
        }
    }

    void Ask()
    {
        m_asked = Simulator::Now();
        m_complete = 0;
        for (Read& read : m_reads)
        {
            read.bytes = 0;
            read.socket->Send(Create<Packet>(REQUEST_BYTES));
        }
    }

    void Receive(uint32_t index)
    {
        Read& read = m_reads[index];
        const uint32_t bytes = ReadAll(read.socket);
        read.bytes += bytes;
        if (bytes == 0 || read.bytes != BLOCK_BYTES || ++m_complete < m_reads.size())
        {
            return;
        }
        m_busy += Simulator::Now() - m_asked;
        if (--m_iterationsLeft == 0)
        {
            Simulator::Stop();
        }
        else
        {
            Ask();
        }
    }

    Ptr<Node> m_node;
    uint32_t m_iterationsLeft;
    std::vector<Read> m_reads;
    size_t m_connected = 0;
    size_t m_complete = 0;
    Time m_asked;
    Time m_busy;
};

// The hosts, numbered from 0 (the client), with their links and addresses.
class Star
{
  public:
    Star(uint32_t hosts, uint32_t mtu)
    {
        m_hosts.Create(hosts);
        InstallInternet(m_hosts);
        for (uint32_t host = 0; host < hosts; host++)
        {
            NetDeviceContainer ends = Link(mtu).Install(m_hosts.Get(host), m_switchNode);
            m_switch.Attach(ends.Get(1), host);
            if (host == 0)
            {
                Bound(ends.Get(1));
            }
            SetAddress(m_hosts.Get(host), host, ends.Get(0));
        }
    }

    Ptr<Node> Host(uint32_t index) const
    {
        return m_hosts.Get(index);
    }

  private:
    NodeContainer m_hosts;
    Ptr<Node> m_switchNode = CreateObject<Node>();
    Switch m_switch;
};
} // namespace

int
main(int argc, char** argv)
{
    uint32_t servers = 23;
    uint32_t mtu = 9000;
    uint32_t iterations = 10;
    uint32_t seed = 1;
    CommandLine options(__FILE__);
    options.AddValue("servers", "number of servers", servers);
    options.AddValue("mtu", "bytes of an IP packet", mtu);
    options.AddValue("iterations", "number of synchronized reads", iterations);
    options.AddValue("seed", "of the servers' start jitter", seed);
    options.Parse(argc, argv);

    ConfigureTcp(mtu);
    RngSeedManager::SetSeed(seed);
    Star star(servers + 1, mtu);
    Client client(star.Host(0), iterations);
    std::vector<std::unique_ptr<Server>> listening;
    for (uint32_t host = 1; host <= servers; host++)
    {
        listening.push_back(std::make_unique<Server>(star.Host(host)));
        client.Connect(AddressOf(host));
    }
    Simulator::Run();

    const double bits = 8.0 * BLOCK_BYTES * servers * iterations;
    std::printf("{\"goodput_mbps\": %.3f, \"drops\": %lu, \"timeouts\": %lu}\n",
                bits / client.Busy().GetMicroSeconds(),
                drops,
                timeouts);
    Simulator::Destroy();
    return EXIT_SUCCESS;
}
