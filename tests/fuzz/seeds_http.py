"""Data of connections: whole requests, and some on which servers and proxies have disagreed."""

HOST = "Host: localhost\r\n"


def head(line, *headers):
    return line + "\r\n" + HOST + "".join(header + "\r\n" for header in headers) + "\r\n"


def post(*headers, body=""):
    return head("POST /v1/chat/completions HTTP/1.1", *headers) + body


def chunked(body, *headers):
    return post("Transfer-Encoding: chunked", *headers, body=body)


def http():
    get = head("GET /v1/chunks?type=CONTEXT&limit=5&after=%41 HTTP/1.1")
    return {
        "ok-get": get,
        "ok-get-of-http-1-0": head("GET /health HTTP/1.0", "Connection: keep-alive"),
        "ok-key": head("GET /v1/models HTTP/1.1", "Authorization: Bearer  sk-cascade-00 "),
        "ok-body-with-length": post("Content-Length: 2", body="{}"),
        "ok-body-in-chunks": chunked("1\r\n{\r\n1;a=b\r\n}\r\n0\r\nX-Trailer: 1\r\n\r\n"),
        "ok-continue": post("Content-Length: 2", "Expect: 100-continue", body="{}"),
        "ok-two-at-once": get + post("Content-Length: 2", body="{}"),
        "ok-keys-in-body": post("X-Api-Key: k", "Content-Length: 75",
                                body="# keys\nteam-a " + "0" * 60 + "\n"),
        "ok-escapes-in-path": head("GET /v1/chunks/%00%c3%bf%2e%2e%2f%zz% HTTP/1.1"),
        "ok-query-of-percents": head("GET /v1/events?after=%&limit=%31&boot_id=%61&&=&= HTTP/1.1"),
        "escapes-of-no-utf-8-in-path": head("GET /v1/chunks/%ff HTTP/1.1"),
        "escapes-of-no-utf-8-in-query": head("GET /v1/chunks?after=%ff%fe HTTP/1.1"),
        "escapes-of-half-a-character": head("GET /v1/chunks?after=%c3&limit=5 HTTP/1.1"),
        "ok-origin": head("GET / HTTP/1.1", "Origin: http://[::1]:80"),
        "ok-no-body-in-chunks": chunked("0\r\nX: 1\r\n\r\n"),
        "ok-chunk-size-of-zeros": chunked("0000000002\r\n{}\r\n0\r\n\r\n"),
        "cut-in-head": get[:30],
        "cut-in-body": post("Content-Length: 20", body="{}"),
        "no-http": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        "http-2-preface": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "http-0-9": "GET /\r\n\r\n",
        "http-1-10": head("GET / HTTP/1.10"),
        "absolute-target": head("GET http://other/ HTTP/1.1"),
        "target-of-connect": head("CONNECT localhost:80 HTTP/1.1"),
        "two-hosts": head("GET / HTTP/1.1", "Host: other"),
        "length-and-chunked": chunked("0\r\n\r\n", "Content-Length: 5"),
        "chunked-and-length": post("Content-Length: 5", "Transfer-Encoding: chunked",
                                   body="0\r\n\r\n"),
        "two-lengths": post("Content-Length: 2", "Content-Length: 3", body="{}"),
        "two-lengths-in-one": post("Content-Length: 2, 2", body="{}"),
        "length-negative": post("Content-Length: -1", body="{}"),
        "length-with-plus": post("Content-Length: +2", body="{}"),
        "length-hexadecimal": post("Content-Length: 0x2", body="{}"),
        "length-of-2-64": post("Content-Length: 18446744073709551616", body="{}"),
        "length-of-2-64-less-1": post("Content-Length: 18446744073709551615", body="{}"),
        "length-beyond-limit": post("Content-Length: 16777217", body="{}"),
        "chunked-twice": chunked("0\r\n\r\n", "Transfer-Encoding: chunked"),
        "chunked-not-last": post("Transfer-Encoding: chunked, gzip", body="0\r\n\r\n"),
        "encoding-unknown": post("Transfer-Encoding: xchunked", body="0\r\n\r\n"),
        "encoding-with-blank-before-colon": post("Transfer-Encoding : chunked", body="0\r\n\r\n"),
        "chunk-size-negative": chunked("-1\r\n\r\n0\r\n\r\n"),
        "chunk-size-of-2-64": chunked("10000000000000000\r\n{}\r\n0\r\n\r\n"),
        "chunk-size-of-2-64-less-1": chunked("ffffffffffffffff\r\n{}\r\n0\r\n\r\n"),
        "chunk-size-beyond-limit": chunked("1000001\r\n{}"),
        "chunk-size-with-0x": chunked("0x2\r\n{}\r\n0\r\n\r\n"),
        "chunk-without-end": chunked("2\r\n{}0\r\n\r\n"),
        "chunk-extension-of-20000-bytes": chunked("2;" + "x" * 20000 + "\r\n{}\r\n0\r\n\r\n"),
        "trailer-of-20000-bytes": chunked("0\r\nX: " + "x" * 20000 + "\r\n\r\n"),
        "head-of-20000-bytes": head("GET / HTTP/1.1", "X: " + "x" * 20000),
        "head-without-end": "GET / HTTP/1.1\r\n" + "X: 1\r\n" * 3000,
        "line-folded": head("GET / HTTP/1.1", "X: 1\r\n 2"),
        "line-ends-bare": "GET / HTTP/1.1\nHost: localhost\n\n\r\n\r\n",
        "cr-bare": head("GET / HTTP/1.1", "X: 1\rY: 2"),
        "nul-in-header": head("GET / HTTP/1.1", "X: \0"),
        "header-without-colon": head("GET / HTTP/1.1", "X"),
        "header-without-name": head("GET / HTTP/1.1", ": x"),
    }
