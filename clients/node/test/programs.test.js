// Whole programs: the examples, those of the README, and how processes end.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { Daemon, temporaryFolder } from './support.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const readme = readFileSync(join(root, 'README.md'), 'utf8');

// How much of a prompt is found depends on what the daemon did meanwhile; how long it is does not.
function withoutShares(text) {
  return text.replace(/(\d+) tokens (of the prompt )?reused, (\d+) computed/g,
    (_, reused, _words, computed) => `${Number(reused) + Number(computed)} tokens`);
}

let daemon;
const cleanups = [];

before(async () => {
  daemon = await Daemon.start({ after: (cleanup) => cleanups.push(cleanup) });
});

after(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
});

// Runs node with these arguments until it ends by itself. `onOut(child, out)` sees what comes.
async function run(args, endpoint = `ipc://${daemon.runDir}/cascaded.sock`, onOut = () => {}) {
  const env = { ...process.env, CASCADE_ENDPOINT: endpoint };
  const stdio = ['ignore', 'pipe', 'pipe'];
  const child = spawn(process.execPath, args, { cwd: root, env, stdio });
  let out = '';
  let err = '';
  child.stdout.on('data', (text) => {
    out += text;
    onOut(child, out);
  });
  child.stderr.on('data', (text) => {
    err += text;
  });
  const [code, signal] = await once(child, 'close');
  return { code, signal, out, err };
}

function runCode(code, ...rest) {
  const whole = `import { CascadeError, connect } from 'cascade-client';\n${code}`;
  return run(['--input-type=module', '-e', whole], ...rest);
}

const ENDLESS = `{ prompt: 'Count: 1, 2,', ignoreEos: true, maxTokens: 16000,
  sampling: { temperature: 0 } }`;

test('the conversation example holds three turns', async () => {
  const { code, out, err } = await run([join(root, 'examples/conversation.js')]);
  assert.equal(err, '');
  assert.equal(code, 0);
  assert.match(out, /assistant: The capital of France is Paris\./);
  assert.match(out, /assistant: We just discussed Paris\.\n +[1-9]\d* tokens of the prompt reused/);
  assert.match(withoutShares(out), /Paris\.\n +55 tokens\nuser/);
  assert.match(out, /assistant: The capital of Italy is Rome\./);
});

test('the document example prints what the README says', async () => {
  const endpoint = `ipc://${daemon.runDir}/cascaded.sock`;
  const { code, out, err } = await run([join(root, 'examples/document.js'), endpoint],
    'ipc:///nowhere');
  assert.equal(err, '');
  assert.equal(code, 0);
  const [, block] = readme.match(/ {4}\$ node examples\/document\.js\n((?: {4}.*\n)+)/);
  assert.equal(withoutShares(out), withoutShares(block.replace(/^ {4}/gm, '')));
});

test('the programs of the README print what it says', async () => {
  const programs = [...readme.matchAll(/```js\n(.*?)```\n\n```text\n(.*?)```/gs)];
  assert.equal(programs.length, 5);
  for (const [, code, expected] of programs) {
    const args = ['--input-type=module', '-e', code];
    const { out, err } = await run(args);
    assert.equal(err, '');
    assert.equal(withoutShares(out), withoutShares(expected));
  }
});

test('the example on the first page of the repository prints what that page says', async () => {
  const page = readFileSync(join(root, '../../README.md'), 'utf8');
  const [, code] = page.match(/```js\n(.*?)```/s);
  const [, answer] = page.match(/prints `([^`]+)`/);
  const { out, err } = await run(['--input-type=module', '-e', code]);
  assert.deepEqual([out, err], [`${answer}\n`, '']);
});

test('a program that closes its client ends', async () => {
  const { code, out, err } = await runCode(`
    const client = await connect();
    const stream = client.stream(${ENDLESS});
    await stream.next();
    await client.close();
    console.log('closed');`);
  assert.deepEqual([code, out, err], [0, 'closed\n', '']);
});

test('a program that cannot connect ends', async (t) => {
  const { code, out, err } = await runCode(`
    await connect({ timeoutMs: 100 }).catch(({ code, field }) => console.log(code, field));`,
  `ipc://${temporaryFolder(t)}/none.sock`);
  assert.deepEqual([code, out, err], [0, 'unavailable endpoint\n', '']);
  const refused = await runCode(`
    await connect().catch(({ field }) => console.log(field));`, 'tcp://no port');
  assert.deepEqual([refused.code, refused.out], [0, 'serverKey\n']);
});

test('an error that nobody catches says all of it', async () => {
  const { code, err } = await runCode(`
    const client = await connect();
    await client.getChunk('chunk_0123456789');`);
  assert.equal(code, 1);
  assert.match(err, /CascadeError: no chunk "chunk_0123456789"/);
  assert.match(err, /code: 'not_found'/);
  assert.match(err, /field: 'id'/);
});

test('process.exit() ends a program whose generation runs', async () => {
  const { code, err } = await runCode(`
    const client = await connect();
    for await (const { type } of client.stream(${ENDLESS})) {
      if (type === 'delta') process.exit(7);
    }`);
  assert.deepEqual([code, err], [7, '']);
});

test('a program whose daemon is killed hears of it and ends', async (t) => {
  const mortal = await Daemon.start(t);
  let killed = false;
  const { code, out, err } = await runCode(`
    const client = await connect();
    try {
      for await (const { type } of client.stream(${ENDLESS})) {
        if (type === 'delta') console.log('.');
      }
    } catch (error) {
      console.log(error.code, error.field, error instanceof CascadeError);
    }
    await client.close();`,
  `ipc://${mortal.runDir}/cascaded.sock`, (_, text) => {
    if (killed || !text.includes('.')) return;
    killed = true;
    mortal.stop('SIGKILL');
  });
  assert.deepEqual([code, err], [0, '']);
  assert.match(out, /\nunavailable endpoint true\n$/);
});

test('no promise is left unhandled', async () => {
  const { code, out, err } = await runCode(`
    process.on('unhandledRejection', (error) => console.log('unhandled', error));
    const client = await connect();
    const controller = new AbortController();
    client.stream({ prompt: 5 });
    client.stream({ prompt: '' });
    client.stream(${ENDLESS}, { signal: controller.signal });
    const left = client.stream(${ENDLESS});
    for await (const { type } of left) if (type === 'delta') break;
    controller.abort();
    client.stream(${ENDLESS});
    await client.ping();
    await client.close();
    console.log('end');`);
  assert.deepEqual([code, out, err], [0, 'end\n', '']);
});
