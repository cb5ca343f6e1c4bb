// Many questions about one document. The document is computed once, ahead of the questions, and
// kept for as long as this program is connected; the questions run together behind it.
//
//   node document.js [ENDPOINT]
import { CascadeError, connect, sanitized } from 'cascade-client';

const notes = [
  'Ana likes plums.',
  'The code of the red door is 4711.',
  'Ana lives in Oslo.',
  'Tom lives in Rome.',
];
const questions = [
  'What does Ana like?',
  'What is the code of the red door?',
  'Where does Ana live?',
  'Where does Tom live?',
];
const beginning = [
  { type: 'SYSTEM_PROMPT', text: 'You are a helpful assistant.' },
  { type: 'CONTEXT', text: `Notes:\n${notes.join('\n')}` },
];

const client = await connect(process.argv[2]);
try {
  const prefix = await client.cachePrefix({ chunks: beginning });
  console.log(`${prefix.tokens} tokens of the document are ready`);
  const answers = await client.generateBatch(questions.map((text) => ({
    chunks: [...beginning, { type: 'QUERY', text }],
    sampling: { temperature: 0 },
  })));
  questions.forEach((question, i) => {
    const answer = answers[i];
    if (answer instanceof CascadeError) {
      console.log(`${question}\n  failed: ${answer.message}`);
      return;
    }
    console.log(`${question}\n  ${sanitized(answer.text)} ` +
      `(${answer.usage.reusedTokens} tokens reused, ${answer.usage.prefilledTokens} computed)`);
  });
  await client.releasePrefix(prefix.id);
} finally {
  await client.close();
}
