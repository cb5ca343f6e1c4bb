// "Try it": one question, and its answer as it comes.

let generation = null; // the AbortController of the one that runs

function showDelta({ reasoning_content: thought, content }) {
  if (thought) at('answer').append(element('span', thought, 'thought'));
  if (content) at('answer').append(content);
}

function showUsage({ usage, timings }) {
  const reused = usage.prompt_tokens_details?.cached_tokens ?? 0;
  const speed = timings?.predicted_per_second;
  setText(at('usage'), `${whole(usage.prompt_tokens)} prompt tokens, ${whole(reused)} reused; ` +
    `${whole(usage.completion_tokens)} generated${speed ? `, ${rate(speed)} a second` : ''}`);
}

// Server-sent events: lines that begin with "data: ".
async function follow(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      if (!line.startsWith('data: ') || line === 'data: [DONE]') continue;
      const event = JSON.parse(line.slice('data: '.length));
      if (event.error) throw new Error(event.error.message);
      for (const { delta } of event.choices) showDelta(delta);
      if (event.usage) showUsage(event);
    }
  }
}

at('try').addEventListener('submit', async (submitted) => {
  submitted.preventDefault();
  generation = new AbortController();
  at('send').disabled = true;
  at('stop').hidden = false;
  at('answer').replaceChildren();
  setText(at('usage'), '');
  const body = {
    messages: [{ role: 'user', content: at('prompt').value }],
    stream: true, stream_options: { include_usage: true }, retain_output: at('keep').checked,
  };
  try {
    const options = { method: 'POST', body, signal: generation.signal };
    await follow(await ask('v1/chat/completions', options));
    complain('');
  } catch (error) {
    if (error.name !== 'AbortError') complain(error.message);
  }
  at('send').disabled = false;
  at('stop').hidden = true;
});
at('stop').addEventListener('click', () => generation.abort());
