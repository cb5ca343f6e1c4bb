// Keys of tcp endpoints: from options, from the environment, and what is wrong with them.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { curveKeyPair } from 'zeromq';

import { curveOptions } from '../src/client_keys.js';

const TCP = 'tcp://127.0.0.1:1';

function pairIn(t) {
  const folder = mkdtempSync(join(tmpdir(), 'cascade-keys-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const { publicKey, secretKey } = curveKeyPair();
  const file = join(folder, 'own');
  writeFileSync(file, `curve\n    public-key = "${publicKey}"\n    secret-key = "${secretKey}"\n`);
  return { file, folder, publicKey, secretKey };
}

test('other endpoints need no keys', () => {
  assert.deepEqual(curveOptions('ipc:///run/x.sock', {}), {});
});

test('the daemon has a key, and the client has a pair', (t) => {
  const { file, publicKey, secretKey } = pairIn(t);
  const server = curveKeyPair().publicKey;
  assert.deepEqual(curveOptions(TCP, { serverKey: server, keyFile: file }), {
    curveServerKey: server, curvePublicKey: publicKey, curveSecretKey: secretKey,
  });
});

test('what is wrong with them is named', (t) => {
  const { file, folder } = pairIn(t);
  const serverKey = curveKeyPair().publicKey;
  const refused = (options, field) => {
    assert.throws(() => curveOptions(TCP, options), { code: 'invalid_argument', field });
  };
  refused({}, 'serverKey');
  refused({ serverKey: 'short', keyFile: file }, 'serverKey');
  refused({ serverKey }, 'keyFile');
  refused({ serverKey, keyFile: join(folder, 'none') }, 'keyFile');
  const half = join(folder, 'half');
  writeFileSync(half, `public-key = "${serverKey}"\n`);
  refused({ serverKey, keyFile: half }, 'keyFile');
});
