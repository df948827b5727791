// Long flows through a port with a queue discipline, in ns-3: the scenario of queues.yaml beside this file.
//
// Senders and receivers hang on two routers. The slow port of the west router has the discipline; its
// device holds one packet, or the queue would be there twice. No other port has a discipline.
//
// Prints one JSON object, of the time after the warm-up: goodput, drops and marks of the discipline, and
// the times that packets spent in it.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

using namespace ns3;

namespace
{
constexpr uint32_t HEADER_BYTES = 52; // IPv4 and TCP with timestamps
constexpr uint32_t MTU = 1500;
constexpr uint16_t PORT = 5000;

bool isMeasured = false;
uint64_t drops = 0;
uint64_t marks = 0;
uint64_t received = 0;
std::vector<double> sojournsMs;

void
ConfigureTcp(const std::string& control)
{
    static const std::map<std::string, std::string> TYPES{{"reno", "ns3::TcpLinuxReno"},
                                                          {"cubic", "ns3::TcpCubic"},
                                                          {"bbr", "ns3::TcpBbr"}};
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue(TYPES.at(control)));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MicroSeconds(1)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(MTU - HEADER_BYTES));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(16 << 20));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(16 << 20));
}

// The discipline with the parameters of queues.yaml.
TrafficControlHelper
Discipline(const std::string& kind)
{
    TrafficControlHelper helper;
    if (kind == "fifo")
    {
        helper.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue("660p"));
    }
    else if (kind == "red")
    {
        helper.SetRootQueueDisc("ns3::RedQueueDisc",
                                "MaxSize", StringValue("1000000B"),
                                "MinTh", DoubleValue(50'000),
                                "MaxTh", DoubleValue(150'000),
                                "LInterm", DoubleValue(50), // 1 / probability
                                "MeanPktSize", UintegerValue(1000),
                                "Gentle", BooleanValue(false),
                                "QW", DoubleValue(1.0 / 32), // of burst in queues.yaml,
                                "LinkBandwidth", StringValue("20Mbps"));
    }
    else if (kind == "codel")
    {
        helper.SetRootQueueDisc("ns3::CoDelQueueDisc", "MaxSize", StringValue("1000p"));
    }
    else if (kind == "fq-codel")
    {
        helper.SetRootQueueDisc("ns3::FqCoDelQueueDisc", "MaxSize", StringValue("10240p"));
    }
    else if (kind == "pie")
    {
        helper.SetRootQueueDisc("ns3::PieQueueDisc",
                                "MaxSize", StringValue("1000p"),
                                "QueueDelayReference", TimeValue(MilliSeconds(15)),
                                "UseDequeueRateEstimator", BooleanValue(false),
                                "A", DoubleValue(0.125),
                                "B", DoubleValue(1.25));
    }
    else
    {
        NS_FATAL_ERROR("no such queue: " << kind);
    }
    return helper;
}

PointToPointHelper
Link(const std::string& rate, Time delay)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(rate));
    link.SetDeviceAttribute("Mtu", UintegerValue(MTU));
    link.SetChannelAttribute("Delay", TimeValue(delay));
    return link;
}

void
Observe(Ptr<QueueDisc> queue)
{
    const auto dropped = +[](Ptr<const QueueDiscItem>) { drops += isMeasured; };
    queue->TraceConnectWithoutContext("Drop", MakeCallback(dropped));
    const auto marked = +[](Ptr<const QueueDiscItem>, const char*) { marks += isMeasured; };
    queue->TraceConnectWithoutContext("Mark", MakeCallback(marked));
    const auto left = +[](Time sojourn) {
        if (isMeasured)
        {
            sojournsMs.push_back(sojourn.GetSeconds() * 1e3);
        }
    };
    queue->TraceConnectWithoutContext("SojournTime", MakeCallback(left));
}

double
Percentile(double percent)
{
    if (sojournsMs.empty())
    {
        return 0;
    }
    std::sort(sojournsMs.begin(), sojournsMs.end());
    const auto place = static_cast<size_t>(percent / 100 * (sojournsMs.size() - 1));
    return sojournsMs[place];
}
} // namespace

int
main(int argc, char** argv)
{
    std::string queue = "fifo";
    std::string control = "cubic";
    uint32_t flows = 4;
    uint32_t warmup = 10;
    uint32_t measure = 60;
    uint32_t seed = 1;
    CommandLine options(__FILE__);
    options.AddValue("queue", "fifo, red, codel, fq-codel or pie", queue);
    options.AddValue("control", "reno, cubic or bbr", control);
    options.AddValue("flows", "number of senders, and of receivers", flows);
    options.AddValue("warmup", "seconds before measuring", warmup);
    options.AddValue("measure", "seconds", measure);
    options.AddValue("seed", "of the senders' start", seed);
    options.Parse(argc, argv);

    RngSeedManager::SetSeed(seed);
    ConfigureTcp(control);
    NodeContainer senders;
    NodeContainer receivers;
    NodeContainer routers;
    senders.Create(flows);
    receivers.Create(flows);
    routers.Create(2);
    InternetStackHelper internet;
    internet.SetIpv6StackInstall(false);
    internet.InstallAll();

    PointToPointHelper slow = Link("20Mbps", MicroSeconds(19'980));
    slow.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
    NetDeviceContainer trunk = slow.Install(routers);
    Observe(Discipline(queue).Install(trunk.Get(0)).Get(0));

    Ipv4AddressHelper addresses("10.1.0.0", "255.255.255.0");
    NetDeviceContainer others;
    Ipv4InterfaceContainer ends;
    addresses.Assign(trunk);
    others.Add(trunk.Get(1));
    for (uint32_t flow = 0; flow < flows; flow++)
    {
        for (const auto& [host, router] : {std::pair{senders.Get(flow), routers.Get(0)},
                                           std::pair{receivers.Get(flow), routers.Get(1)}})
        {
            NetDeviceContainer link = Link("1Gbps", MicroSeconds(5)).Install(host, router);
            addresses.NewNetwork();
            Ipv4InterfaceContainer assigned = addresses.Assign(link);
            others.Add(link);
            if (host == receivers.Get(flow))
            {
                ends.Add(assigned.Get(0));
            }
        }
    }
    // Addresses come with a discipline for each device that has none.
    TrafficControlHelper().Uninstall(others);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    Ptr<UniformRandomVariable> start = CreateObject<UniformRandomVariable>();
    for (uint32_t flow = 0; flow < flows; flow++)
    {
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(ends.GetAddress(flow), PORT));
        bulk.Install(senders.Get(flow)).Start(MilliSeconds(start->GetInteger(0, 500 * warmup)));
        PacketSinkHelper sink("ns3::TcpSocketFactory",
                              InetSocketAddress(Ipv4Address::GetAny(), PORT));
        Ptr<Application> sinking = sink.Install(receivers.Get(flow)).Get(0);
        const auto came = +[](Ptr<const Packet> packet, const Address&) {
            received += isMeasured ? packet->GetSize() : 0;
        };
        sinking->TraceConnectWithoutContext("Rx", MakeCallback(came));
    }
    Simulator::Schedule(Seconds(warmup), +[]() { isMeasured = true; });
    Simulator::Stop(Seconds(warmup + measure));
    Simulator::Run();

    double sum = 0;
    for (const double one : sojournsMs)
    {
        sum += one;
    }
    std::printf("{\"goodput_mbps\": %.4f, \"drops\": %lu, \"marks\": %lu, \"sojourn_ms\": %.4f, "
                "\"sojourn_p50_ms\": %.4f, \"sojourn_p99_ms\": %.4f}\n",
                8.0 * received / measure / 1e6,
                drops,
                marks,
                sojournsMs.empty() ? 0 : sum / sojournsMs.size(),
                Percentile(50),
                Percentile(99));
    Simulator::Destroy();
    return EXIT_SUCCESS;
}
