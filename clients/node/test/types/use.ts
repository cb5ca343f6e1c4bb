// How a TypeScript program uses the package: compiled, never run. What must not compile says so.
import {
  CascadeError,
  Client,
  type EventGap,
  type EventNotice,
  EventStream,
  GenerationStream,
  chunkReference,
  connect,
  defaultEndpoint,
  sanitized,
  type ChatMessage,
  type Chunk,
  type ChunkInfo,
  type ChunkPut,
  type Generation,
  type GenerateRequest,
  type Grammar,
  type Int64,
  type StreamEvent,
  type Tool,
} from 'cascade-client';

type Is<A> = <T>() => T extends A ? 1 : 2;
type Same<A, B> = Is<A> extends Is<B> ? true : false;
function same<A, B>(_: Same<A, B>): void {}

export async function connecting(): Promise<void> {
  await using client = await connect();
  same<typeof client, Client>(true);
  await connect('ipc:///run/cascaded/cascaded.sock');
  await connect({ runDir: '/run/cascaded', timeoutMs: 100, signal: AbortSignal.timeout(1000) });
  await Client.connect({ endpoint: defaultEndpoint() });
  // @ts-expect-error: no such option
  await connect({ timeout: 100 });
  // @ts-expect-error: made by connect() only
  new Client();
  // @ts-expect-error: read-only
  client.endpoint = '';
}

export async function generating(client: Client): Promise<string> {
  const request: GenerateRequest = {
    chunks: [{ type: 'SYSTEM_PROMPT', text: 'Be brief.' }, chunkReference('output_01')],
    sampling: { temperature: 0, topK: 5, seed: 2n ** 63n, logitBias: [{ token: 1, bias: -1 }] },
    thinking: false,
    reasoningEffort: 'low',
    thinkPolicy: 'keep',
    attention: 'window:4096:64',
    stop: ['\n'],
    timeoutMs: 5000,
  };
  const generation = await client.generate(request, { onEvent: (event) => event.type !== 'delta' });
  same<typeof generation, Generation>(true);
  same<Generation['tokenIds'], Int32Array>(true);
  same<Generation['logprobs'], Float32Array>(true);
  same<Generation['seed'], Int64>(true);
  const share: number = generation.usage.reusedTokens / generation.usage.promptTokens;
  // @ts-expect-error: names are in camel case
  await client.generate({ prompt: 'x', max_tokens: 5 });
  // @ts-expect-error: one of the four roles
  await client.generate({ messages: [{ role: 'robot', content: 'x' }] });
  // @ts-expect-error: a number
  await client.generate({ prompt: 'x', maxTokens: '5' });
  // @ts-expect-error: a seed may be a bigint
  const seed: number = generation.seed;
  return `${sanitized(generation.text)} ${share} ${seed}`;
}

export async function forming(client: Client): Promise<string> {
  const parameters = { type: 'object' };
  const tools: Tool[] = [{ type: 'function', function: { name: 'f', parameters } }];
  const messages: ChatMessage[] = [
    { role: 'assistant', content: '', toolCalls: [{ function: { name: 'f', arguments: {} } }] },
    { role: 'tool', content: 'x', toolCallId: 'call_1', name: 'f' },
  ];
  const sequence = [{ text: 'x' }, { json_schema: true }];
  const grammar: Grammar = { kind: 'parts', schema: { sequence } };
  await client.generate({ messages, tools, grammar });
  await client.generate({ prompt: 'x', grammar: { kind: 'json_schema', schema: parameters } });
  await client.generate({ prompt: 'x', grammar: { kind: 'json_object' } });
  // @ts-expect-error: a schema is missing
  await client.generate({ prompt: 'x', grammar: { kind: 'json_schema' } });
  // @ts-expect-error: no such kind
  await client.generate({ prompt: 'x', grammar: { kind: 'regex', schema: '' } });
  // @ts-expect-error: no such part
  await client.generate({ prompt: 'x', grammar: { kind: 'parts', schema: { texts: 'x' } } });
  const ids = await client.tokenize('x', { beginning: true });
  same<typeof ids, Int32Array>(true);
  const { text, pieces } = await client.detokenize(ids, { skipSpecial: true, pieces: true });
  const { pieceBytes } = await client.detokenize(ids, { pieceBytes: true, textStart: 'none' });
  const { prompt, tokenIds } =
    await client.applyTemplate(messages, { thinking: false, reasoningEffort: 'low', tools });
  // @ts-expect-error: no such option
  await client.detokenize([1], { special: true });
  return `${text} ${pieces.length} ${prompt} ${tokenIds.length} ${pieceBytes.length}`;
}

export async function streaming(client: Client): Promise<string> {
  const stream = client.stream({ prompt: 'x' }, { signal: AbortSignal.timeout(10) });
  same<typeof stream, GenerationStream>(true);
  let text = '';
  for await (const event of stream) {
    same<typeof event, StreamEvent>(true);
    if (event.type === 'delta') text += event.reasoning ? '' : event.text;
    else if (event.type === 'progress') text += event.promptTokensDone.toFixed();
    else if (event.type === 'accepted') text += event.queuePosition.toFixed();
    else same<typeof event.finishReason, string>(true);
  }
  await stream.cancel();
  await client.cancel(stream);
  await client.cancel(stream.id);
  // @ts-expect-error: a stream, or the bytes of its id
  await client.cancel('id');
  return text + (await stream.result()).text;
}

export async function batching(client: Client): Promise<Generation[]> {
  const results = await client.generateBatch([{ prompt: 'x' }], {
    onEvent: (index, event) => void `${index.toFixed()} ${event.type}`,
  });
  same<typeof results, (Generation | CascadeError)[]>(true);
  return results.filter((result): result is Generation => !(result instanceof CascadeError));
}

export async function chunks(client: Client): Promise<Chunk[]> {
  const put: ChunkPut = { type: 'CONTEXT', tokenIds: [1, 2], name: 'x', ttlMs: 1n };
  const all: ChunkInfo[] = await client.listAllChunks('OUTPUT', 5);
  const page = await client.listChunks({ limit: 5 });
  // @ts-expect-error: no such type
  await client.putChunk('OUTPUTS', 'x');
  return [
    await client.putChunk(put),
    await client.putChunk('QUERY', 'x', { signal: AbortSignal.abort() }),
    await client.getChunk(await client.registerChunk('x', 'CONTEXT')),
    await client.updateChunk({ id: 'x', published: true }),
    await client.setChunkPriority('x', 5),
    ...all.map(({ chunk }) => chunk),
    ...page.chunks,
  ];
}

export async function failing(client: Client): Promise<string> {
  try {
    const { session, turns } = await client.getSession('trip');
    return `${session.turns} ${turns[0]?.outputId}`;
  } catch (error) {
    if (!(error instanceof CascadeError)) throw error;
    if (error.code === 'not_found') return error.field;
    if (error.retryable) return error.retryAfterMs.toFixed();
    // @ts-expect-error: read-only
    error.code = 'internal';
    throw error;
  }
}

export async function service(client: Client): Promise<number> {
  const { cache, disk, groups } = await client.getChunkStats();
  // @ts-expect-error: of the tenant 'local' only
  const held: number = cache.pagesHeld;
  const { findings, left } = await client.fsck(true, '/var/lib/cascade');
  const { pagesBad } = await client.backup('/mnt/backup');
  const { warnings } = await client.status();
  const prefix = await client.cachePrefix({ prompt: 'x' });
  const policies = await client.setExpiryPolicy('OUTPUT', 0);
  return held + (disk?.pages ?? 0) + groups.length + findings.length + left + pagesBad +
    warnings.length + prefix.references + policies.length;
}

export async function listening(client: Client): Promise<void> {
  for await (const event of client.events({ since: 3, bootId: 'boot_1' })) {
    same<typeof event, EventNotice | EventGap>(true);
    if ('after' in event) continue;
    const type: string | undefined = event.type;
    console.log(event.sequence, event.kind, type);
  }
  const events: EventStream = client.events({ signal: AbortSignal.timeout(10) });
  await events.return();
  // @ts-expect-error: no such option
  client.events({ after: 3 });
}
