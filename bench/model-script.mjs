// The answers of the benchmark's model. The task names it: `bench kv 10` is ten tool turns, `bench agent 1` one
// sub-agent, which calls a tool of its own once.

/** Characters of every final answer; the server sends it as one delta per 16 characters. */
const answer = 'The bench says the same thing every time, at the same length. '
  .repeat(3)
  .slice(0, 160)

const calls = {
  // Another key each time: the same call with the same result is a loop at the fifth.
  kv: (done) => ({ name: 'kv__get', arguments: { key: `bench${done}` } }),
  files: () => ({ name: 'files__read', arguments: { path: 'a.js' } }),
  agent: () => ({
    name: 'code-reviewer__run',
    arguments: { task: 'bench files 1: review this function.' },
  }),
}

const textOf = (content) =>
  typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join('')

export function reply({ body: { messages } }) {
  const asked = messages.findLastIndex(({ role }) => role === 'user')
  const [, what, times] = /bench (\w+) (\d+)/.exec(textOf(messages[asked]?.content)) ?? []
  const done = messages.slice(asked).filter(({ role }) => role === 'tool').length
  const callAt = calls[what]
  return callAt && done < Number(times) ? { toolCalls: [callAt(done)] } : { text: answer }
}
