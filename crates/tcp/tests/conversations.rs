mod lab;
use lab::{Client, Server, lab, ms};

#[test]
fn explore() {
    let mut lab1 = lab().unopened();
    lab1.connect();
    lab1.run_to_completion();
    println!("{}", lab1.conversation());
    for sack in [true, false] {
    let mut l = lab().both(|c| c.sack = sack).open();
    l.lose(Server.data(2));
    l.lose(Server.data(6));
    l.write(Server, 10_000);
    l.run_to_completion();
    println!("{}{:?}", l.conversation(), l.counters(Server));
    }
    let mut l = lab().open();
    l.write(Server, 10_000);
    l.write(Client, 10_000);
    l.lose(Client.data(2));
    l.close(Client);
    l.run_until(ms(100));
    l.close(Server);
    l.run_to_completion();
    println!("{}{:?}", l.conversation(), l.counters(Server));
}
