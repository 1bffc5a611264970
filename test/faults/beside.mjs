// npm run beside [-- --shapes 64 --seed 1 --zips 200]
//
// Whether one input holds all others: the real local server is sent texts, files and templates in shapes that readers have
// stumbled over, each with its last byte held back until /healthz can be asked in the same moment. /healthz has to be
// answered before the input is, unless that is answered as soon as /healthz alone; how long it waited at most is printed
// beside how long it takes alone. Before that so many zips are refused, and the memory of workerd is looked at. Last line:
// `shapes N held 0 zips 200 cost 24 MiB`.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, startServer } from '../e2e/server.ts'
import { zipOf } from '../fakes/zip.ts'
import { createRandom, numberOption } from './local-server.mjs'

const options = {
  shapes: numberOption('shapes', 64),
  seed: numberOption('seed', 1),
  zips: numberOption('zips', 200),
}
const maxZipMib = 100
/** A small input may be answered before a question that came in the same moment: it is sent again. */
const maxTries = 8

const long = 1_900_000
const run = (mark, chars = long) => mark.repeat(Math.floor(chars / mark.length))
const sentence = 'The kettle is on the left of the sink, and the tea is in the drawer below it. '
const document = (type, text) => ({
  path: '/api/knowledge',
  json: { name: `shape.${type}`, type, text, dryRun: true },
})
const kept = (type, text) => ({
  path: '/api/knowledge',
  json: { name: `kept.${type}`, type, text },
})
const agent = (instructions) => ({
  path: '/api/agents/on-demand',
  json: { agent: { instructions }, task: 'Say hello.' },
})
const saved = (instructions) => ({
  path: '/api/agents',
  json: {
    dryRun: true,
    agent: { id: 'shape', name: 'Shape', description: 'A shape.', instructions },
  },
})
const plugin = (files) => ({
  path: '/api/operator/plugins',
  type: 'application/zip',
  body: zipOf(files),
})
const prompt = (text) =>
  plugin({
    'plugin.yaml':
      'id: shape\nname: Shape\nversion: 1.0.0\ndescription: A shape.\nagent:\n  integration_mode: tool\n  model: default\n  instructions: prompt.md\n',
    'prompt.md': text,
  })
const skill = (text) => ({
  path: '/api/operator/skills?dryRun=true',
  type: 'application/zip',
  body: zipOf({ 'shape/SKILL.md': text }),
})
const chat = (messages, more = {}) => ({
  path: '/v1/chat/completions',
  json: { model: 'orchestrator', messages, ...more },
})
const says = (content) => chat([{ role: 'user', content }])
const called = (args) =>
  chat([
    { role: 'user', content: 'Look it up.' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'x', arguments: args } }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: args },
    { role: 'user', content: 'And now?' },
  ])

/** Each a reader and a text. */
const shapes = {
  'markdown: one heading of marks': () => document('markdown', `# ${run('#')}x`),
  'markdown: one heading of blanks': () => document('markdown', `# ${run(' ')}x`),
  'markdown: many headings': () => document('markdown', run('# a\n')),
  'markdown: prose': () => document('markdown', run(`${sentence.repeat(8)}\n\n`)),
  'markdown: prose that is kept': () =>
    kept('markdown', run(`# Tea\n\n${sentence.repeat(12)}\n\n`)),
  'markdown: a long table': () =>
    document('markdown', `| a | b |\n|---|---|\n${run('| one | two |\n', 240_000)}`),
  'markdown: too long a table': () =>
    document('markdown', `| a | b |\n|---|---|\n${run('| one | two |\n')}`),
  'markdown: quotes in quotes': () => document('markdown', `${run('> ')}x`),
  'markdown: lists in lists': () => document('markdown', `${run('- ')}x`),
  'markdown: a fence of marks': () => document('markdown', run('`')),
  'markdown: fences': () => document('markdown', run('```\nx\n')),
  'markdown: comments': () => document('markdown', run('<!--')),
  'markdown: front matter': () => document('markdown', `---\n${run('a: b\n')}`),
  'markdown: underlines': () => document('markdown', `Tea\n${run('=')}`),
  'markdown: ends of lines': () => document('markdown', `a${run('\r\n')}b`),
  'markdown: pipes': () => document('markdown', `${run('|', 900_000)}\n${run('|', 900_000)}`),
  'html: headings': () => document('html', run('<h1>a</h1>')),
  'html: depth': () => document('html', run('<div>')),
  'html: paragraphs without an end': () => document('html', run('<p>a')),
  'html: brackets': () => document('html', `<p>${run('<')}`),
  'html: ampersands': () => document('html', `<p>${run('&')}`),
  'html: named characters': () => document('html', `<p>${run('&ntilde;')}`),
  'html: a comment without an end': () => document('html', `x<!--${run('-')}`),
  'html: attributes': () => document('html', `x<a ${run('a ')}>`),
  'html: a style': () => document('html', `<p style="${run('/*')}">x`),
  'html: a table': () =>
    document('html', `<table><tr><th>a<th>b${run('<tr><td>1<td>2', 90_000)}</table>`),
  'html: a script': () => document('html', `<p>x<script>${run('</scrip')}`),
  'html: ends of what was not begun': () => document('html', `x${run('</b>')}`),
  'html: a page that is kept': () =>
    kept('html', run(`<h2>Tea</h2><p>${sentence.repeat(12)}</p>`, 1_500_000)),
  'text: one word': () => document('text', run('x')),
  'text: ends of lines': () => document('text', `a${run('\n')}b`),
  'text: a script without blanks': () => document('text', run('水を沸かす。', 1_200_000)),
  'text: two halves of characters': () => document('text', run('😀')),
  'text: paragraphs': () => document('text', run('a\n\n')),
  'text: words that are kept': () => kept('text', run('quay tea sink ', 1_500_000)),
  'pages: many': () => ({
    path: '/api/knowledge',
    json: {
      name: 'shape.pdf',
      type: 'pages',
      pages: Array.from({ length: 1_500 }, () => sentence.repeat(12)),
      dryRun: true,
    },
  }),
  'template: blanks': () => agent(`a${run(' ', 60_000)}b`),
  'template: lines': () => agent(`a${run('\n', 60_000)}b`),
  'template: begins of expressions': () => agent(run('{{', 60_000)),
  'template: begins of statements': () => agent(run('{%', 60_000)),
  'template: comments': () => agent(run('{#', 60_000)),
  'template: expressions': () => agent(run('{{ a }}', 60_000)),
  'template: blanks within an expression': () => agent(`{{ a${run(' ', 60_000)}}}`),
  'template: blanks of an agent that is to be kept': () => saved(`a${run(' ', 60_000)}b`),
  'template: blanks in the prompt of a plugin': () => prompt(`a${run(' ', 60_000)}b`),
  'template: expressions in the prompt of a plugin': () => prompt(run('{{', 60_000)),
  'yaml: blanks': () => plugin({ 'plugin.yaml': `a: b\n${run(' ', 60_000)}\n\tx` }),
  'yaml: brackets': () => plugin({ 'plugin.yaml': `a: ${run('[', 60_000)}` }),
  'yaml: names of what was said': () =>
    plugin({ 'plugin.yaml': `a: &a [x]\nb: [${run('*a, ', 50_000)}]` }),
  'zip: a file that grows': () => plugin({ 'plugin.yaml': 'a: b', 'x.txt': run('\0', 30_000_000) }),
  'zip: many files': () =>
    plugin(Object.fromEntries(Array.from({ length: 3_000 }, (_one, at) => [`f${at}.txt`, 'x']))),
  'zip: none': () => ({
    path: '/api/operator/plugins',
    type: 'application/zip',
    body: Buffer.from(run('PK\x01\x02', 900_000)),
  }),
  'skill: front matter of blanks': () =>
    skill(`---\nname: shape\ndescription:${run(' ', 60_000)}x: y\n---\nx`),
  'json: brackets': () => ({ path: '/v1/chat/completions', body: Buffer.from(run('[')) }),
  'json: names': () => ({
    path: '/v1/chat/completions',
    body: Buffer.from(`{${Array.from({ length: 150_000 }, (_one, at) => `"k${at}":1`)}}`),
  }),
  'chat: blanks': () => says(`a${run(' ', 150_000)}b`),
  'chat: marks of code': () => says(run('`', 150_000)),
  'chat: many messages': () =>
    chat(
      Array.from({ length: 400 }, (_one, at) => ({
        role: at % 2 === 0 ? 'user' : 'assistant',
        content: sentence,
      })),
    ),
  'chat: arguments of a tool': () => called(JSON.stringify({ q: run(' ', 100_000) })),
  'memory: notes': () => ({
    path: '/api/memory',
    json: {
      dryRun: true,
      notes: Array.from({ length: 100 }, (_one, at) => ({ text: `${at} ${run('word ', 3_900)}` })),
    },
  }),
  'search: a long question': () => ({ path: `/api/knowledge/search?query=${run('a-/.', 2_000)}` }),
  'search: a glob': () => ({
    path: '/api/operator/policy/test',
    json: { policy: { deny: [run('*a', 60)] }, agent: 'orchestrator', tool: run('a', 60) },
  }),
  'responses: items': () => ({
    path: '/v1/responses',
    json: {
      model: 'orchestrator',
      input: Array.from({ length: 300 }, () => ({
        role: 'user',
        content: [{ type: 'input_text', text: sentence }],
      })),
    },
  }),
  'mcp: arguments': () => ({
    path: '/mcp',
    json: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'x', arguments: { q: run('\\', 300_000) } },
    },
  }),
}

const random = createRandom(options.seed)
const temp = mkdtempSync(join(tmpdir(), 'isola-beside-'))
const port = await freePort()
const server = await startServer({
  state: join(temp, 'state'),
  port,
  env: { ISOLA_MODEL: 'offline' },
})
const agentOf = () => new http.Agent({ keepAlive: true, maxSockets: 1 })
const [inputs, asking] = [agentOf(), agentOf()]

/** Begins a request, and holds its last byte back. `end`: sends it, and answers the status. */
async function begin(
  { path, json, type = 'application/json', body = json && Buffer.from(JSON.stringify(json)) },
  agent,
) {
  const headers = {
    authorization: `Bearer ${server.key}`,
    accept: 'application/json, text/event-stream',
  }
  if (body) Object.assign(headers, { 'content-type': type, 'content-length': body.length })
  const request = http.request(server.url + path, { method: body ? 'POST' : 'GET', headers, agent })
  const answered = new Promise((resolve, reject) => {
    request.once('response', (response) =>
      response.resume().once('end', () => resolve(response.statusCode)),
    )
    request.once('error', reject)
  })
  answered.catch(() => {})
  if (body) await new Promise((resolve) => request.write(body.subarray(0, -1), resolve))
  return () => {
    request.end(body?.subarray(-1))
    return answered
  }
}

async function healthz() {
  const startedAt = performance.now()
  const status = await (await begin({ path: '/healthz' }, asking))()
  if (status !== 200) throw new Error(`/healthz answered ${status}`)
  return performance.now() - startedAt
}

/** The input, and /healthz in the same moment and then again until the input is answered. */
async function beside(shape) {
  const end = await begin(shape, inputs)
  // Waits until the bytes of the request have arrived.
  await healthz()
  let isAnswered = false
  const startedAt = performance.now()
  const input = end().then((status) => {
    isAnswered = true
    return { status, ms: performance.now() - startedAt }
  })
  let [longestMs, before] = [0, 0]
  while (!isAnswered) {
    longestMs = Math.max(longestMs, await healthz())
    if (!isAnswered) before += 1
  }
  return { ...(await input), longestMs, before }
}

/** Of the workerd of this server, where the system tells. */
function memoryMib() {
  try {
    const sizes = readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((pid) => {
        try {
          const of = (file) => readFileSync(`/proc/${pid}/${file}`, 'utf8')
          if (!of('cmdline').includes('workerd') || !of('environ').includes(`PORT=${port}\0`))
            return []
          return [Number(/VmRSS:\s+(\d+)/.exec(of('status'))?.[1] ?? 0) / 1024]
        } catch {
          return []
        }
      })
    return Math.max(0, ...sizes)
  } catch {
    return 0
  }
}

let [held, cost] = [0, 0]
try {
  const idle = []
  for (let at = 0; at < 20; at += 1) idle.push(await healthz())
  const idleMs = idle.toSorted((one, other) => one - other)[10]
  const longestIdleMs = Math.max(...idle)
  console.log(
    `/healthz alone takes ${idleMs.toFixed(1)} ms, at most ${longestIdleMs.toFixed(1)} ms`,
  )
  if (options.zips > 0) {
    const refuse = async (at) =>
      (
        await begin(plugin({ 'plugin.yaml': `id: ${at}`, 'x.txt': run(`${at} `, 20_000) }), inputs)
      )()
    await refuse(-1)
    const before = memoryMib()
    for (let at = 0; at < options.zips; at += 1) await refuse(at)
    cost = memoryMib() - before
  }
  const names = Object.keys(shapes)
  const order = names
    .map((name) => [random.next(), name])
    .toSorted(([one], [other]) => one - other)
    .slice(0, options.shapes)
  for (const [, name] of order) {
    let seen
    // An input that is answered as soon as /healthz alone holds nothing up; nor does a step of a quarter of a second,
    // which two busy cores make of 30 ms. What this looks for takes seconds.
    const isHeld = () => seen.before === 0 && seen.ms > Math.max(longestIdleMs, 250)
    for (let tries = 0; tries < maxTries && (!seen || isHeld()); tries += 1)
      seen = await beside(shapes[name]())
    if (isHeld()) held += 1
    console.log(
      `${isHeld() ? 'HELD' : 'ok  '} ${name}: ${seen.status} in ${seen.ms.toFixed(0)} ms, /healthz answered ${seen.before} times before, at most ${seen.longestMs.toFixed(0)} ms`,
    )
  }
} finally {
  inputs.destroy()
  asking.destroy()
  await server.stop()
  rmSync(temp, { recursive: true, force: true })
}
if (held > 0 || cost >= maxZipMib) process.exitCode = 1
console.log(
  `shapes ${options.shapes} held ${held} zips ${options.zips} cost ${cost.toFixed(0)} MiB`,
)
