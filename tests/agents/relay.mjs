// Stands between an agent and the daemon, passes everything on as it is, and keeps what was said.
// When it is told to, it changes one request: see demand() and lengthen().
import http from "node:http";

// The data of the events of a stream, as far as they came; "[DONE]" is one of them.
function eventsOf(text) {
  return text.split("\n\n").flatMap((event) => {
    const line = event.split("\n").find((l) => l.startsWith("data: "));
    if (line === undefined) return [];
    const data = line.slice("data: ".length);
    return [data === "[DONE]" ? data : JSON.parse(data)];
  });
}

const generations = ["/v1/chat/completions", "/v1/responses"];

// What an agent asked, and what the daemon answered to it.
class Exchange {
  constructor(request, body) {
    this.method = request.method;
    this.path = request.url;
    this.asked = body.length > 0 && request.method === "POST" ? JSON.parse(body) : null;
    this.generates = request.method === "POST" && generations.includes(request.url);
    this.flat = request.url === "/v1/responses";
    this.changed = false; // the daemon was asked for something else: see demand(), lengthen()
    this.status = 0;
    this.bytes = []; // of the reply
    this.ended = false; // the reply came whole
  }

  get text() {
    return Buffer.concat(this.bytes).toString();
  }
  get events() {
    return eventsOf(this.text);
  }
  get streamed() {
    return this.asked?.stream === true;
  }
  // The body of a reply that was not streamed.
  get reply() {
    return JSON.parse(this.text);
  }
  // Whether the last event ends a whole answer.
  get complete() {
    if (!this.ended || this.status !== 200) return false;
    if (!this.streamed) return true;
    const { events } = this;
    if (this.flat) return events.at(-1)?.type === "response.completed";
    return events.at(-1) === "[DONE]" && !events.some((event) => event.error !== undefined);
  }
  // The text that was answered.
  get answer() {
    if (!this.streamed) {
      return this.flat ? this.reply.output.flatMap((item) => item.content ?? [])
        .map((part) => part.text).join("") : this.reply.choices[0].message.content;
    }
    return this.events.map((event) => (!this.flat ? event.choices?.[0]?.delta.content
      : event.type === "response.output_text.delta" ? event.delta : "") ?? "").join("");
  }
  // The functions that it calls; of a stream.
  get calls() {
    const calls = [];
    for (const event of this.events) {
      if (event.type === "response.function_call_arguments.done") {
        calls.push({ name: event.name, text: event.arguments });
      }
      for (const piece of event.choices?.[0]?.delta.tool_calls ?? []) {
        const made = calls[piece.index] ??= { name: "", text: "" };
        made.name += piece.function.name ?? "";
        made.text += piece.function.arguments ?? "";
      }
    }
    return calls.map(({ name, text }) => ({ name, given: JSON.parse(text) }));
  }
  get usage() {
    const { events } = this;
    const found = this.flat ? events.at(-1)?.response?.usage
      : this.streamed ? events.findLast((event) => event.usage)?.usage : this.reply.usage;
    return {
      prompt: found.input_tokens ?? found.prompt_tokens,
      cached: (found.input_tokens_details ?? found.prompt_tokens_details).cached_tokens,
    };
  }
  // The messages or items of the request.
  get turns() {
    return this.asked.messages ?? this.asked.input;
  }
  // The names of its functions.
  get tools() {
    return (this.asked.tools ?? []).filter((tool) => tool.type === "function")
      .map((tool) => (this.flat ? tool.name : tool.function.name));
  }
  // The text of the results of tools that the request has.
  get results() {
    const told = this.turns.filter(
      (turn) => turn.role === "tool" || turn.type === "function_call_output");
    return told.map((turn) => JSON.stringify(turn.content ?? turn.output)).join("\n");
  }
}

// Demands a call of the function, by a schema that only these arguments satisfy.
function demandCall(body, flat, name, given) {
  const properties = Object.fromEntries(
    Object.entries(given).map(([key, value]) => [key, { const: value }]));
  const parameters = {
    type: "object", properties, required: Object.keys(given), additionalProperties: false,
  };
  const functions = body.tools.filter((tool) => tool.type === "function")
    .map((tool) => (flat ? tool : tool.function));
  functions.find((tool) => tool.name === name).parameters = parameters;
  body.tool_choice = flat ? { type: "function", name } : { type: "function", function: { name } };
  // A small model may not find the end of its thoughts, and the call comes behind them.
  body[flat ? "reasoning" : "reasoning_effort"] = flat ? { effort: "none" } : "none";
}

// `target`: the daemon's URL.
export async function startRelay(target) {
  const { hostname, port } = new URL(target);
  const exchanges = [];
  let change = null; // of the next request for which it is
  const server = http.createServer((request, response) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      let body = Buffer.concat(chunks);
      const exchange = new Exchange(request, body.toString());
      exchanges.push(exchange);
      if (exchange.generates && change?.isFor(exchange)) {
        const changed = structuredClone(exchange.asked);
        change.make(changed, exchange.flat);
        body = Buffer.from(JSON.stringify(changed));
        exchange.changed = true;
        change = null;
      }
      const headers = { ...request.headers, host: `${hostname}:${port}` };
      delete headers["transfer-encoding"];
      if (body.length > 0) headers["content-length"] = body.length;
      const passed = http.request(
        { hostname, port, method: request.method, path: request.url, headers, agent: false },
        (reply) => {
          exchange.status = reply.statusCode;
          response.writeHead(reply.statusCode, reply.headers);
          reply.on("data", (chunk) => {
            exchange.bytes.push(chunk);
            response.write(chunk);
          });
          reply.on("end", () => {
            exchange.ended = reply.complete;
            response.end();
          });
        });
      passed.on("error", () => response.destroy());
      // The agent has gone: so is its request.
      response.on("close", () => passed.destroy());
      passed.end(body);
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    baseURL: `http://127.0.0.1:${server.address().port}/v1`,
    exchanges,
    // Forgets what was said until now.
    forget() {
      exchanges.length = 0;
    },
    get generations() {
      return exchanges.filter((exchange) => exchange.generates);
    },
    // The demo model is too small to call functions by itself. With the next request that has the
    // function `name`, the daemon is asked for a call of it with these arguments, by tool_choice
    // and a schema. All other requests are passed on as they are, also that with the call's result.
    demand(name, given) {
      change = {
        isFor: (exchange) => exchange.tools.includes(name),
        make: (body, flat) => demandCall(body, flat, name, given),
      };
    },
    // The answer to the next request that has functions ends after many tokens only.
    lengthen() {
      change = {
        isFor: (exchange) => exchange.tools.length > 0,
        make: (body, flat) => {
          body[flat ? "max_output_tokens" : "max_tokens"] = 16_000;
          body.ignore_eos = true;
        },
      };
    },
    stop() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
