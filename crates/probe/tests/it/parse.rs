//! Output of this kernel, of other kernels, and malformed output.

use netstudy_probe::parse::netlink::{Content, messages};
use netstudy_probe::parse::tcp_info::TcpInfo;
use netstudy_probe::parse::{
    Fields, ParseError, diskstats, ethtool, flow, key_values, link, mib, pressure, process, qdisc,
    softnet, stat,
};
use netstudy_probe::{Flow, Source};

macro_rules! text {
    ($name:literal) => {
        include_str!(concat!("../data/linux-6.18/", $name))
    };
}

macro_rules! bytes {
    ($name:literal) => {
        include_bytes!(concat!("../data/linux-6.18/", $name)).as_slice()
    };
}

/// The parts of an answer, each as `parse` reads it.
fn told<T>(answer: &[u8], parse: fn(&[u8]) -> Result<T, ParseError>) -> Vec<T> {
    let parts = messages(answer).unwrap();
    assert_eq!(parts.last().unwrap().content, Content::Done(None));
    let data = parts.iter().filter_map(|part| match part.content {
        Content::Data(data) => Some(parse(data).unwrap()),
        _ => None,
    });
    data.collect()
}

/// The fields that have a name of ours and are not there.
fn lacking(source: Source, fields: &impl Fields) -> Vec<&'static str> {
    let names = source.counters().iter().map(|counter| counter.field);
    names.filter(|field| fields.field(field).is_none()).collect()
}

mod mibs {
    use super::*;

    #[test]
    fn this_kernel_tells_every_counter_that_has_a_name() {
        let snmp = mib::parse(text!("snmp")).unwrap();
        let netstat = mib::parse(text!("netstat")).unwrap();

        assert_eq!(lacking(Source::Snmp, &snmp), [""; 0]);
        assert_eq!(lacking(Source::Netstat, &netstat), [""; 0]);
        assert_eq!(snmp.field("Tcp ActiveOpens"), Some(3));
        assert_eq!(snmp.field("Tcp CurrEstab"), Some(6));
        assert_eq!(snmp.field("Tcp MaxConn"), None, "-1 is no count");
        assert_eq!(netstat.field("TcpExt TCPDelivered"), Some(14));
        assert_eq!(netstat.field("IpExt InNoECTPkts"), Some(45));
    }

    #[test]
    fn what_an_older_kernel_lacks_is_none_and_what_a_later_one_adds_is_there() {
        let text =
            "Tcp: RtoAlgorithm RetransSegs\nTcp: 1 7\nNew: Thing\nNew: 18446744073709551615\n";
        let mib = mib::parse(text).unwrap();

        assert_eq!(mib.field("Tcp RetransSegs"), Some(7));
        assert_eq!(mib.field("Tcp OutSegs"), None);
        assert_eq!(mib.field("TcpExt TCPTimeouts"), None);
        assert_eq!(mib.field("New Thing"), Some(u64::MAX));
    }

    #[test]
    fn values_that_do_not_belong_to_their_names_are_errors() {
        for text in [
            "Tcp: A B\nTcp: 1\n",
            "Tcp: A\nTcp: 1 2\n",
            "Tcp: A\nUdp: 1\n",
            "Tcp: A\n",
            "Tcp A\nTcp 1\n",
            "Tcp: A\nTcp: one\n",
            "Tcp: A\nTcp: 18446744073709551616\n",
        ] {
            assert!(mib::parse(text).is_err(), "{text}");
        }
    }
}

mod cpus {
    use super::*;

    #[test]
    fn this_kernel_tells_both_cpus_and_the_events() {
        let stat = stat::parse(text!("stat")).unwrap();

        let names: Vec<_> = stat.cores.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["cpu0", "cpu1"]);
        let (states, events) = Source::Cpus.counters().split_at(10);
        for counter in states {
            assert!(stat.cores[0].1.field(counter.field).is_some(), "{}", counter.field);
        }
        for counter in events {
            assert!(stat.events.field(counter.field).is_some(), "{}", counter.field);
        }
    }

    #[test]
    fn states_are_in_the_order_of_the_kernel() {
        let stat =
            stat::parse("cpu0 1 2 3 4 5 6 7 8 9 10 11\nintr 70 1 2\nsoftirq 80 3\n").unwrap();
        let value = |state| stat.cores[0].1.field(state);

        assert_eq!(value("cpu user"), Some(1));
        assert_eq!(value("cpu iowait"), Some(5));
        assert_eq!(value("cpu softirq"), Some(7));
        assert_eq!(value("cpu steal"), Some(8));
        assert_eq!(value("cpu guest_nice"), Some(10));
        assert_eq!(stat.events.field("softirq"), Some(80));
        assert_eq!(stat.events.field("intr"), Some(70));
    }

    #[test]
    fn a_kernel_without_steal_tells_the_rest() {
        let stat = stat::parse("cpu 1 2 3 4\ncpu0 1 2 3 4\n").unwrap();

        assert_eq!(stat.cores[0].1.field("cpu idle"), Some(4));
        assert_eq!(stat.cores[0].1.field("cpu steal"), None);
    }

    #[test]
    fn a_thousand_cpus_are_told_apart_though_some_are_off() {
        let online = (0..1000).filter(|cpu| cpu % 7 != 0);
        let lines: Vec<_> = online.map(|cpu| format!("cpu{cpu} {cpu} 0\n")).collect();
        let text = lines.concat();
        let stat = stat::parse(&text).unwrap();

        assert_eq!(stat.cores.len(), 857);
        let (name, columns) = &stat.cores[856];
        assert_eq!((*name, columns.field("cpu user")), ("cpu999", Some(999)));
    }

    #[test]
    fn no_cpu_or_no_number_is_an_error() {
        assert!(stat::parse("").is_err());
        assert!(stat::parse("cpu 1 2 3 4\n").is_err());
        assert!(stat::parse("cpu0 1 x 3 4\n").is_err());
    }
}

mod softnets {
    use super::*;

    #[test]
    fn this_kernel_tells_each_cpu_with_its_number() {
        let cores = softnet::parse(text!("softnet_stat")).unwrap();

        assert_eq!(cores.iter().map(|(cpu, _)| *cpu).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(lacking(Source::Softnet, &cores[1].1), [""; 0]);
    }

    #[test]
    fn numbers_are_hexadecimal_and_cpus_that_are_off_have_no_line() {
        let line = |cpu: u32| format!("0000ffff 00000010 0000000a {} {cpu:08x}\n", "0 ".repeat(9));
        let cores = softnet::parse(&[line(0), line(300)].concat()).unwrap();

        assert_eq!(cores[1].0, 300);
        assert_eq!(cores[1].1.field("processed"), Some(65_535));
        assert_eq!(cores[1].1.field("dropped"), Some(16));
        assert_eq!(cores[1].1.field("time_squeeze"), Some(10));
    }

    #[test]
    fn an_older_kernel_counts_lines() {
        let cores = softnet::parse("0000000f 0 0\n00000010 1 2\n").unwrap();

        assert_eq!(cores[1].0, 1);
        assert_eq!(cores[1].1.field("dropped"), Some(1));
        assert!(softnet::parse("processed\n").is_err());
    }
}

mod processes {
    use super::*;

    #[test]
    fn this_kernel_tells_of_a_process() {
        let process = process::parse(text!("self_stat")).unwrap();

        assert_eq!(lacking(Source::Process, &process), [""; 0]);
        assert_eq!(process.field("minflt"), Some(3296));
        assert_eq!((process.field("utime"), process.field("stime")), (Some(3), Some(1)));
        assert_eq!(process.field("num_threads"), Some(1));
        assert_eq!(process.field("rss"), Some(3664));
        assert_eq!(process.field("tpgid"), None, "-1 is no count");
    }

    #[test]
    fn a_program_may_be_named_like_the_columns() {
        let named = |name| format!("7 ({name}) S 1 7 7 0 -1 0 11 12 13 14 15 16\n");
        for name in ["a b", ") R 1 2 3", "((", "x) (y"] {
            let text = named(name);
            let process = process::parse(&text).unwrap();

            assert_eq!(process.field("minflt"), Some(11), "{name}");
            assert_eq!(process.field("stime"), Some(16), "{name}");
            assert_eq!(process.field("rss"), None, "{name}");
        }
        assert!(process::parse("7 sh S 1\n").is_err());
    }
}

mod hosts {
    use super::*;

    #[test]
    fn this_kernel_tells_of_memory_in_bytes_and_of_paging() {
        let memory = key_values::parse(text!("meminfo")).unwrap();
        let paging = key_values::parse(text!("vmstat")).unwrap();

        assert_eq!(lacking(Source::Memory, &memory), [""; 0]);
        assert_eq!(lacking(Source::Paging, &paging), [""; 0]);
        assert_eq!(memory.field("MemTotal"), Some(24_684_096 * 1024));
        assert_eq!(memory.field("HugePages_Total"), Some(0));
    }

    #[test]
    fn a_unit_that_is_not_known_is_an_error() {
        assert!(key_values::parse("MemTotal: 7 MB\n").is_err());
        assert!(key_values::parse("MemTotal:\n").is_err());
        assert!(key_values::parse("MemTotal: much kB\n").is_err());
    }

    #[test]
    fn this_kernel_tells_of_disks() {
        let disks = diskstats::parse(text!("diskstats")).unwrap();
        let (_, disk) = disks.iter().find(|(name, _)| *name == "vda").unwrap();

        assert_eq!(lacking(Source::Disks, disk), [""; 0]);
        assert!(disk.field("sectors read") > disk.field("reads completed"));
    }

    #[test]
    fn an_older_kernel_tells_eleven_columns_and_a_later_one_may_tell_more() {
        let old = " 8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n";
        let new = " 8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19\n";
        for (text, flushes) in [(old, None), (new, Some(16))] {
            let disks = diskstats::parse(text).unwrap();
            let (name, disk) = &disks[0];

            assert_eq!((*name, disk.field("sectors read")), ("sda", Some(3)));
            assert_eq!(disk.field("sectors written"), Some(7));
            assert_eq!(disk.field("weighted ms doing I/O"), Some(11));
            assert_eq!(disk.field("flushes completed"), flushes);
        }
        assert!(diskstats::parse(" 8 0\n").is_err());
    }

    #[test]
    fn pressure_is_the_total() {
        let this = pressure::parse(text!("pressure_cpu")).unwrap();
        assert_eq!(lacking(Source::Pressure, &this), [""; 0]);

        let text = "some avg10=1.50 avg60=0.00 avg300=0.00 total=42\n";
        assert_eq!(pressure::parse(text).unwrap().field("some"), Some(42));
        assert!(pressure::parse("some avg10=1.50\n").is_err());
    }
}

mod flows {
    use super::*;

    fn flows(answer: &[u8]) -> Vec<Flow> {
        told(answer, flow::parse)
    }

    fn between<'a>(flows: &'a [Flow], ends: &str) -> &'a Flow {
        flows.iter().find(|flow| flow.socket.to_string() == ends).unwrap()
    }

    #[test]
    fn this_kernel_tells_every_counter_of_a_connection() {
        let flows = flows(bytes!("sock_diag_ipv4.bin"));
        let client = between(&flows, "127.0.0.1:50001-127.0.0.1:4711");
        let server = between(&flows, "127.0.0.1:4711-127.0.0.1:50001");

        assert_eq!(lacking(Source::Flows, client), [""; 0]);
        assert_eq!(client.congestion_control.as_deref(), Some("reno"));
        assert_eq!(client.info.field("bytes_sent"), Some(300_000));
        assert_eq!(client.info.field("bytes_acked"), Some(300_001), "the SYN counts");
        assert_eq!(server.info.field("bytes_received"), Some(300_000));
        // As ss printed them at that time.
        assert_eq!(client.info.field("data_segs_out"), Some(9));
        assert_eq!(client.field("segs_out - data_segs_out"), Some(12 - 9));
        assert_eq!(server.info.field("data_segs_in"), Some(9));
        assert_eq!(client.info.field("snd_cwnd"), Some(10));
        assert_eq!(client.info.field("min_rtt"), Some(2));
        assert_ne!(client.cookie, server.cookie);
    }

    #[test]
    fn an_ipv4_connection_of_an_ipv6_socket_has_ipv4_addresses() {
        let flows = flows(bytes!("sock_diag_ipv6.bin"));

        assert_eq!(between(&flows, "[::1]:50002-[::1]:4712").info.field("bytes_sent"), Some(1000));
        between(&flows, "127.0.0.1:4712-127.0.0.1:50003");
    }

    #[test]
    fn acknowledgments_are_counted_over_the_wrap_of_both_counts() {
        let mut info = [0; 160];
        info[136..140].copy_from_slice(&5_u32.to_ne_bytes()); // segs_out
        info[156..160].copy_from_slice(&(u32::MAX - 9).to_ne_bytes()); // data_segs_out
        let flows = flows(bytes!("sock_diag_ipv4.bin"));
        let flow = Flow { info: TcpInfo::new(&info), ..flows[0].clone() };

        assert_eq!(flow.field("segs_out - data_segs_out"), Some(15));
    }

    #[test]
    fn what_an_older_kernel_does_not_tell_is_none() {
        let of_length = |length| TcpInfo::new(&[1_u8; 300][..length]);
        let told = |length, field| of_length(length).field(field).is_some();

        // Linux 2.6.18, 4.1, 6.1, 6.7, and one to come.
        assert_eq!([104, 136, 232, 248, 300].map(|l| told(l, "total_retrans")), [true; 5]);
        assert_eq!(
            [104, 136, 232, 248, 300].map(|l| told(l, "bytes_acked")),
            [false, true, true, true, true]
        );
        assert_eq!(
            [104, 136, 232, 248, 300].map(|l| told(l, "total_rto")),
            [false, false, false, true, true]
        );
        assert_eq!(of_length(248).field("total_rto"), Some(0x0101));
        assert!(!told(101, "total_retrans"), "half a number is none");
        assert!(!told(300, "no such thing"));
    }

    #[test]
    fn a_refusal_tells_its_code() {
        let answer = messages(bytes!("no_such_flow.bin")).unwrap();

        assert_eq!(answer[0].content, Content::Failed(Some(2)), "ENOENT");
    }
}

mod ethtools {
    use super::*;

    const HEADER: [u8; 4] = [0; 4];
    const NESTED: u16 = 1 << 15;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = [(4 + value.len() as u16).to_ne_bytes(), kind.to_ne_bytes()].concat();
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn nested(kind: u16, parts: &[Vec<u8>]) -> Vec<u8> {
        attribute(kind | NESTED, &parts.concat())
    }

    /// An answer about the interface with the number 7.
    fn answer(parts: &[Vec<u8>]) -> Vec<u8> {
        let about = nested(1, &[attribute(1, &7_u32.to_ne_bytes())]);
        [HEADER.to_vec(), about, parts.concat()].concat()
    }

    /// A set of named bits, each with or without a value of 1.
    fn set(kind: u16, bits: &[(&str, bool)]) -> Vec<u8> {
        let bit = |(name, is_one): &(&str, bool)| {
            let name = attribute(2, format!("{name}\0").as_bytes());
            nested(1, &[name, if *is_one { attribute(3, &[]) } else { Vec::new() }])
        };
        nested(kind, &[nested(3, &bits.iter().map(bit).collect::<Vec<_>>())])
    }

    #[test]
    fn a_feature_is_fixed_if_it_may_not_be_changed() {
        let listed =
            set(2, &[("rx-gro", true), ("rx-lro", false), ("loopback", true), ("", false)]);
        let active = set(4, &[("rx-gro", false), ("rx-lro", false)]);
        let never = set(5, &[("loopback", false)]);
        let features = ethtool::features(&answer(&[listed, active, never])).unwrap();

        let states: Vec<_> =
            features.all.iter().map(|one| (&*one.name, one.is_on, one.is_fixed)).collect();
        assert_eq!(features.index, 7);
        assert_eq!(
            states,
            [("rx-gro", true, false), ("rx-lro", true, true), ("loopback", false, true)]
        );
    }

    #[test]
    fn pause_frames_are_counted_in_each_direction() {
        let counts = |kind, count: u64| attribute(kind, &count.to_ne_bytes());
        let stats = nested(5, &[attribute(1, &[]), counts(2, 3), counts(3, u64::MAX)]);
        let pause = ethtool::pause(&answer(&[attribute(2, &[1]), stats])).unwrap();

        assert_eq!((pause.index, pause.sent, pause.received), (7, Some(3), Some(u64::MAX)));
    }

    #[test]
    fn a_driver_without_counts_of_pause_has_none() {
        let pause = ethtool::pause(&answer(&[attribute(2, &[1])])).unwrap();

        assert_eq!((pause.sent, pause.received), (None, None));
    }
}

mod links {
    use super::*;

    #[test]
    fn this_kernel_tells_every_counter_of_an_interface() {
        let links = told(bytes!("links.bin"), link::parse);
        let named = |name| links.iter().find(|link| link.name == name).unwrap();

        let (p0, p1) = (named("p0"), named("p1"));
        assert_eq!(lacking(Source::Links, p0), [""; 0]);
        assert_eq!(p0.stats.field("tx_packets"), p1.stats.field("rx_packets"));
        assert_eq!(p0.stats.field("tx_bytes"), p1.stats.field("rx_bytes"));
        assert!(named("lo").stats.field("rx_bytes") > Some(300_000));
        assert_ne!(p0.index, p1.index);
    }

    #[test]
    fn this_kernel_tells_of_queues() {
        let links = told(bytes!("links.bin"), link::parse);
        let qdiscs = told(bytes!("qdiscs.bin"), qdisc::parse);
        let index = |name| links.iter().find(|link| link.name == name).unwrap().index;
        let of = |kind: &str| qdiscs.iter().find(|qdisc| qdisc.kind == kind).unwrap();

        let tbf = of("tbf");
        assert_eq!(tbf.interface, index("p0"));
        assert_eq!(lacking(Source::Qdiscs, tbf), [""; 0]);
        assert_eq!(tbf.drops, Some(14));
        // 20 datagrams: 14 were dropped, one or two left, the rest waits, each of 1442 bytes.
        let (left, waiting) = (tbf.packets.unwrap(), tbf.qlen.unwrap());
        assert!(left + waiting >= 6, "{left} left, {waiting} wait");
        assert!(tbf.backlog.unwrap() >= 1442 * (waiting - 1));
        assert!(tbf.is_root() && of("htb").is_root());
        assert!(!of("bfifo").is_root(), "it serves a class of htb");
        assert!(!of("noqueue").counts());
    }
}

mod strange_answers {
    use super::*;

    /// Reads an answer as everything that it could be.
    fn read(answer: &[u8]) {
        for part in messages(answer).into_iter().flatten() {
            if let Content::Data(data) = part.content {
                let _ = (flow::parse(data), link::parse(data), qdisc::parse(data));
            }
        }
    }

    const ANSWERS: [&[u8]; 4] = [
        bytes!("sock_diag_ipv4.bin"),
        bytes!("sock_diag_ipv6.bin"),
        bytes!("links.bin"),
        bytes!("qdiscs.bin"),
    ];

    #[test]
    fn a_cut_answer_is_refused() {
        for answer in ANSWERS {
            for length in 1..answer.len() {
                read(&answer[..length]);
            }
            assert!(messages(&answer[..answer.len() - 21]).is_err());
        }
    }

    #[test]
    fn a_wrong_byte_harms_nobody() {
        for answer in ANSWERS {
            for position in 0..answer.len() {
                for byte in [0, 1, 0x7f, 0xff] {
                    let mut wrong = answer.to_vec();
                    wrong[position] = byte;
                    read(&wrong);
                }
            }
        }
    }

    #[test]
    fn a_short_message_is_an_error() {
        assert!(flow::parse(&[2; 71]).is_err());
        assert!(flow::parse(&[9; 72]).is_err(), "of another address family");
        assert!(link::parse(&[0; 15]).is_err());
        assert!(qdisc::parse(&[0; 19]).is_err());
    }
}
