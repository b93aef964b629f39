#!/usr/bin/perl
# Words for the attempts; each is a link to this file. Each succeeds if the attempt does.
use strict;
use warnings;
use Socket qw(getaddrinfo SOCK_STREAM SOCK_DGRAM);

my ($word) = $0 =~ m#([^/]+)$#;

# A connection to a numeric address.
sub connected {
    my ($host, $port, $type) = @_;
    my ($error, $found) = getaddrinfo($host, $port, { socktype => $type });
    die "$error\n" if $error;
    socket(my $socket, $found->{family}, $type, 0) or die "$!\n";
    local $SIG{ALRM} = sub { die "no answer\n" };
    alarm 2;
    connect($socket, $found->{addr}) or die "$!\n";
    return $socket;
}

# opens FILE: opens it for reading and writing.
if ($word eq 'opens') {
    open my $file, '+<', $ARGV[0] or die "$!\n";
}

# sys NUMBER ARGUMENTS: makes a system call.
elsif ($word eq 'sys') {
    my @arguments = map { /^-?\d+$/ ? $_ + 0 : /^0x/ ? hex : "$_" } @ARGV;
    my $result = syscall(shift @arguments, @arguments);
    die "$!\n" if $result == -1;
}

# unix PATH [TEXT]: connects to a socket, an abstract one if it begins with @.
elsif ($word eq 'unix') {
    my ($path, $text) = @ARGV;
    my $address = $path =~ /^@(.*)/ ? pack('Sa*', 1, "\0$1") : Socket::pack_sockaddr_un($path);
    socket(my $socket, 1, 1, 0) or die "$!\n";
    connect($socket, $address) or die "$!\n";
    syswrite $socket, "$text\n" if defined $text;
}

# tcp HOST PORT
elsif ($word eq 'tcp') {
    connected(@ARGV, SOCK_STREAM);
}

# udp HOST PORT: asks, and waits for an answer.
elsif ($word eq 'udp') {
    my $socket = connected(@ARGV, SOCK_DGRAM);
    send($socket, 'question', 0) or die "$!\n";
    local $SIG{ALRM} = sub { die "no answer\n" };
    alarm 2;
    defined recv($socket, my $answer, 100, 0) or die "$!\n";
}

# serve PORT: serves a port of loopback for a minute, in the background.
elsif ($word eq 'serve') {
    require IO::Socket::INET;
    my $listener = IO::Socket::INET->new(
        LocalAddr => "127.0.0.1:$ARGV[0]", Listen => 5, ReuseAddr => 1
    ) or die "$!\n";
    exit 0 if fork;
    open STDOUT, '>', '/dev/null';
    open STDERR, '>', '/dev/null';
    alarm 60;
    $listener->accept while 1;
}

# proxy METHOD TARGET [HEADER]: succeeds if each answer does.
elsif ($word eq 'proxy') {
    require IO::Socket::INET;
    my ($method, $target, $header) = @ARGV;
    my ($address) = ($ENV{http_proxy} // '127.0.0.1:3128') =~ m#([^/]+:\d+)#;
    my $socket = IO::Socket::INET->new(PeerAddr => $address, Timeout => 2) or die "$!\n";
    $header = $header ? "$header\r\n" : '';
    print $socket "$method $target HTTP/1.1\r\n$header\r\n";
    my $answers = join '', <$socket>;
    my @lines = $answers =~ m#^(HTTP/1.1 \d+)#mg;
    print "@lines\n";
    exit 1 if !@lines || grep { !/ 200$/ } @lines;
}

else {
    die "no such word: $word\n";
}
