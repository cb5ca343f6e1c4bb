// The TypeScript types: they compile as programs use them, and say what the code does.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import ts from 'typescript';

import * as exported from '../src/index.js';
import { parts } from '../src/message_parts.js';
import { messages } from '../src/messages.js';

const root = fileURLToPath(new URL('..', import.meta.url));
// Messages by the names of their types; the others have methods instead, or nothing to say.
const TYPE_OF = { Final: 'Generation' };
const WITHOUT_TYPE = ['Ping', 'StatusRequest', 'CancelRequest', 'ChunkGet', 'ChunkDelete',
  'StatsRequest', 'PrefixAttach', 'PrefixRelease', 'ChunkSearch', 'FsckRequest', 'BackupRequest',
  'SessionListRequest', 'SessionGet', 'SessionDelete', 'PolicyGet', 'PolicySet',
  'TokenizeRequest', 'DetokenizeRequest', 'ApplyTemplateRequest', 'TokenizeReply', 'Pong',
  'EventsRequest', 'EventsReply', 'DeltaCredit', 'ModelListRequest', 'ModelLoad', 'ModelUnload',
  'ModelReply',
  'ChunkReply', 'ChunkSearchReply', 'SessionListReply', 'PolicyReply', 'Ack', 'ErrorReply'];
// Clients write these; all others they only read.
const WRITTEN = ['GenerateRequest', 'PrefixCache', 'ChunkPut', 'ChunkListRequest', 'ChunkUpdate',
  'ChunkRef', 'ChatMessage', 'LogitBias', 'Sampling', 'Grammar'];

const sources = new Map();
const declarations = new Map();
for (const file of readdirSync(join(root, 'types'))) {
  const text = readFileSync(join(root, 'types', file), 'utf8');
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  sources.set(file, source);
  for (const node of source.statements) if (node.name) declarations.set(node.name.text, node);
}

// The members of an interface or class, those that it extends included: name -> may be absent. Of
// objects of which one is meant: those of all, and what one of them has not may be absent.
function membersOf(name) {
  const { members, heritageClauses = [], type } = declarations.get(name);
  if (type !== undefined) {
    const all = type.types.flatMap((one) => one.members.map((member) => member.name.text));
    const counted = all.map((key) => [key, all.filter((other) => other === key).length]);
    return new Map(counted.map(([key, count]) => [key, count < type.types.length]));
  }
  const inherited = heritageClauses
    .flatMap(({ types }) => types.map(({ expression }) => expression.text))
    .filter((base) => declarations.has(base))
    .flatMap((base) => [...membersOf(base)]);
  const own = members.filter((member) => member.name?.kind === ts.SyntaxKind.Identifier)
    .map((member) => [member.name.text, member.questionToken !== undefined]);
  return new Map([...inherited, ...own]);
}

test('programs compile with the types', () => {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const args = [tsc, '-p', join(root, 'test/types')];
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  assert.equal(status, 0, stdout);
});

test('each message has the fields of its type', () => {
  const structs = { ...messages, ...parts };
  for (const [name, { fields }] of Object.entries(structs)) {
    if (WITHOUT_TYPE.includes(name)) continue;
    const type = TYPE_OF[name] ?? name;
    assert.ok(declarations.has(type), `there is no type ${type}`);
    const written = WRITTEN.includes(name);
    const expected = fields.map(({ key, kind }) =>
      [key, Boolean(kind.optional && (written || kind.absent() === undefined))]);
    if (name === 'ChunkListReply') {
      expected.splice(expected.findIndex(([key]) => key === 'tokenIds'), 1);
    }
    assert.deepEqual([...membersOf(type)].toSorted(), expected.toSorted(), name);
  }
});

test('classes have the members that their types say, and no others', () => {
  for (const [name, Class] of [['Client', exported.Client],
    ['GenerationStream', exported.GenerationStream], ['EventStream', exported.EventStream]]) {
    const declared = [...membersOf(name).keys()].filter((member) => member !== 'connect');
    const defined = Object.getOwnPropertyNames(Class.prototype)
      .filter((member) => member !== 'constructor');
    assert.deepEqual(defined.toSorted(), declared.toSorted(), name);
  }
  const error = new exported.CascadeError('io', 'x', 'y');
  for (const member of membersOf('CascadeError').keys()) assert.ok(member in error, member);
});

test('what is exported has a type, and the other way round', () => {
  const { statements } = sources.get('index.d.ts');
  const listed = statements.filter((node) => ts.isExportDeclaration(node) && !node.isTypeOnly)
    .flatMap(({ exportClause }) => exportClause?.elements ?? []) // none of `export *`
    .filter(({ isTypeOnly }) => !isTypeOnly);
  const functions = statements.filter(ts.isFunctionDeclaration);
  const names = [...listed, ...functions].map(({ name }) => name.text);
  assert.deepEqual(names.toSorted(), Object.keys(exported).toSorted());
});
