#!/usr/bin/perl
# What attempts reach for: `victims.pl READY MARK UNIX... -- TCP... -- UDP...` listens everywhere,
# has shared memory and a key, and is a process itself.
use strict;
use warnings;
use IO::Select;
use Socket qw(getaddrinfo SOCK_STREAM SOCK_DGRAM SOMAXCONN);

my ($ready, $mark, @places) = @ARGV;
my @parts = ([]);
for (@places) { $_ eq '--' ? push @parts, [] : push @{ $parts[-1] }, $_ }
my ($unix, $tcp, $udp) = @parts;
my (@streams, @datagrams);

for my $path (@$unix) {
    my $address = $path =~ /^@(.*)/ ? pack('Sa*', 1, "\0$1") : Socket::pack_sockaddr_un($path);
    socket(my $socket, 1, 1, 0) or die "$path: $!";
    bind($socket, $address) or die "$path: $!";
    listen($socket, SOMAXCONN);
    chmod 0777, $path if $path !~ /^@/;
    push @streams, $socket;
}
for ([SOCK_STREAM, $tcp, \@streams], [SOCK_DGRAM, $udp, \@datagrams]) {
    my ($type, $all, $sockets) = @$_;
    for (@$all) {
        my ($host, $port) = /^(.*):(\d+)$/;
        my ($error, $found) = getaddrinfo($host, $port, { socktype => $type });
        die "$_: $error" if $error;
        socket(my $socket, $found->{family}, $type, 0) or die "$_: $!";
        setsockopt($socket, 1, 2, 1);
        bind($socket, $found->{addr}) or die "$_: $!";
        listen($socket, SOMAXCONN) if $type == SOCK_STREAM;
        push @$sockets, $socket;
    }
}
if ($ENV{SHARED}) {
    defined shmget($ENV{SHARED}, 100, 0600 | 01000) or die "shared memory: $!";
    my ($kind, $payload) = ('user', 'canary');
    syscall($ENV{add_key} + 0, $kind, $mark, $payload, 6, -4) >= 0 or die "key: $!";
    $SIG{URG} = sub { open my $file, '>', "$ENV{H}/signalled" };
}
open my $file, '>', $ready or die "$ready: $!";
print $file "$$\n";
close $file;
my $select = IO::Select->new(@streams, @datagrams);
while (1) {
    for my $socket ($select->can_read) {
        if (grep { $_ == $socket } @datagrams) {
            my $from = recv($socket, my $question, 100, 0);
            send($socket, 'answer', 0, $from);
        } else {
            accept(my $stream, $socket);
        }
    }
}
