// A conversation of several turns. Each answer is retained in the daemon and named by the next
// request, so that a turn costs what it adds and not what was said before.
//
//   node conversation.js [ENDPOINT]
import { connect, sanitized } from 'cascade-client';

const system = { type: 'SYSTEM_PROMPT', text: 'You are a helpful assistant.' };
const questions = [
  'What is the capital of France?',
  'What city did we just discuss?',
  'What is the capital of Italy?',
];

const client = await connect(process.argv[2]);
try {
  const outputs = [];
  for (const question of questions) {
    console.log(`user:      ${question}`);
    process.stdout.write('assistant: ');
    const stream = client.stream({
      chunks: [system, ...outputs, { type: 'QUERY', text: question }],
      sampling: { temperature: 0 },
      retainOutput: true,
    });
    for await (const event of stream) {
      if (event.type === 'delta' && !event.reasoning) process.stdout.write(sanitized(event.text));
    }
    const { usage, outputChunkId } = await stream.result();
    console.log(`\n           ${usage.reusedTokens} tokens of the prompt reused, ` +
      `${usage.prefilledTokens} computed`);
    outputs.push({ type: 'OUTPUT', id: outputChunkId });
  }
} finally {
  await client.close();
}
