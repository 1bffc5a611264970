// The words of window.mjs: each task, page and answer comes of its number alone, so that the transcript is known
// beforehand, whatever a server that dies makes a model be asked twice.
import { createRandom } from '../faults/local-server.mjs'

const vocabulary =
  'harbour list seven green across window paper under north candle bridge slowly market answer between silver garden letter evening thirty carry stone ready morning figure travel number branch island quiet report common water simple engine corner history second margin planet'.split(
    ' ',
  )
const summaryMark = '[Summary of the earlier conversation'
const marker = /\[t(\d+|refused)\]/
const readTool = 'isola__read_output'
/** Every so many turns something is said that is asked for later. */
const factEvery = 9
const recallEvery = 7
const refusedEvery = 41

export const textOf = ({ content }) =>
  typeof content === 'string' ? content : (content ?? []).map(({ text = '' }) => text).join('')

/** Which task a request is about, and how many answers of the model there are in it. */
export function taskOf({ messages }) {
  const at = messages.findLastIndex((one) => {
    const text = textOf(one)
    return one.role === 'user' && marker.test(text) && !text.startsWith(summaryMark)
  })
  const [, number] = marker.exec(at < 0 ? '' : textOf(messages[at])) ?? []
  const step = messages.slice(at).filter(({ role }) => role === 'assistant').length
  return { number, index: Number(number), step }
}

export function createTalk({ seed, pagesUrl }) {
  const refusedOnce = new Set()
  const drawOf = (index) => createRandom(seed * 1_000_003 + index)
  function words(salt, count) {
    const draw = drawOf(salt * 31 + 17)
    return Array.from({ length: count }, () => draw.pick(vocabulary)).join(' ')
  }
  const codeOf = (index) => String(drawOf(index + 500_000).int(100_000, 999_999))
  const nameOf = (index) => `Falcon-${index}`

  function planOf(index) {
    const draw = drawOf(index)
    const isFact = index % factEvery === 3
    const long = draw.weighted([
      [55, draw.int(15, 80)],
      [35, draw.int(80, 400)],
      [10, draw.int(400, 1_500)],
    ])
    const common = { long, says: draw.int(10, 160), isFact }
    if (index > factEvery && index % recallEvery === 5) {
      const facts = Math.floor((index - 4) / factEvery)
      return { ...common, kind: 'recall', of: 3 + factEvery * draw.int(0, facts) }
    }
    const pages = draw.weighted([
      [65, 0],
      [28, 1],
      [7, 3],
    ])
    return { ...common, kind: pages > 0 ? 'pages' : 'plain', pages, size: draw.int(60, 2_300) }
  }

  const urlOf = (index, at, size) =>
    `${pagesUrl}/?of=${index * 10 + at}&words=${Math.floor(size / (at + 1))}`

  function answer(index) {
    const { kind, of, says } = planOf(index)
    if (kind === 'recall') return `The code of ${nameOf(of)} was ${codeOf(of)}.`
    return `Answer ${index}: ${words(index + 1, says)}.`
  }

  /** The code in what is sent; if it is not there, in what the handles in it lead to. */
  function recall({ messages }, { index, step }) {
    const { of } = planOf(index)
    const all = messages.map(textOf).join('\n')
    const [, code] = new RegExp(`The code of ${nameOf(of)} is (\\d+)`).exec(all) ?? []
    const how = step === 0 ? 'inWindow' : 'reads'
    if (code) return { text: `The code of ${nameOf(of)} was ${code}.`, how }
    const handles = [...new Set(all.match(/ses_\w+\.\w+\.\w+/g))]
    if (step > 0 || handles.length === 0) return { text: `Nobody said ${nameOf(of)}.` }
    const query = `of ${nameOf(of)} is`
    return {
      toolCalls: handles.map((handle) => ({ name: readTool, arguments: { handle, query } })),
    }
  }

  function task(index) {
    const { long, kind, of, isFact } = planOf(index)
    const said = [`[t${index}] ${words(index, long)}.`]
    if (isFact) said.splice(1, 0, `The code of ${nameOf(index)} is ${codeOf(index)}.`)
    if (kind === 'recall') said.push(`What was the code of ${nameOf(of)}?`)
    return said.join(' ')
  }

  return {
    words,
    task,
    answer,
    refusedTask: '[trefused] Say something.',
    page: (of, count) => words(of + 7_000_000, count),
    notes: ({ messages }) => `Notes: ${textOf(messages.at(-1)).length} characters were said.`,
    /** Said to be too long although it fits: once, or always. */
    isRefused({ number, index, step }) {
      if (number === 'refused') return true
      if (index % refusedEvery !== 20 || step > 0 || refusedOnce.has(index)) return false
      refusedOnce.add(index)
      return true
    },
    reply(body, about) {
      const { index, step } = about
      const { kind, pages, size } = planOf(index)
      if (kind === 'recall') return recall(body, about)
      if (kind === 'plain' || step > 0) return { text: answer(index) }
      const urls = Array.from({ length: pages }, (_, at) => urlOf(index, at, size))
      return {
        toolCalls: urls.map((url) => ({ name: 'http__get', arguments: { url } })),
      }
    },
    /** What of a transcript is not as it has to be; what the model read of kept texts is left out. */
    differences(messages, turns) {
      const isReading = ({ name, toolCalls }) =>
        name === readTool || toolCalls?.[0]?.name === readTool
      const said = messages.filter((one) => !isReading(one))
      const expected = Array.from({ length: turns }, (_, index) => expectedOf(index)).flat()
      const wrong = []
      for (let at = 0; at < Math.max(said.length, expected.length); at += 1) {
        const problem = differs(said[at], expected[at])
        if (problem) wrong.push(`message ${at} of the transcript: ${problem}`)
      }
      return wrong
    },
  }

  function expectedOf(index) {
    const { kind, pages, size } = planOf(index)
    const calls = Array.from({ length: kind === 'pages' ? pages : 0 }, (_, at) =>
      urlOf(index, at, size),
    )
    const read = calls.map((url) => {
      const { searchParams } = new URL(url)
      const [of, count] = ['of', 'words'].map((name) => Number(searchParams.get(name)))
      return { role: 'tool', has: words(of + 7_000_000, count) }
    })
    return [
      { role: 'user', text: task(index) },
      ...(calls.length > 0 ? [{ role: 'assistant', calls }, ...read] : []),
      { role: 'assistant', text: answer(index) },
    ]
  }
}

function differs(said, expected) {
  if (!said) return `${expected.role} is missing`
  if (!expected) return `${said.role} is one too many`
  if (said.role !== expected.role) return `${said.role}, not ${expected.role}`
  if (expected.has !== undefined)
    return JSON.stringify(said.output).includes(expected.has) ? undefined : 'another page'
  if (expected.calls) {
    const urls = (said.toolCalls ?? []).map(({ input }) => input.url)
    return JSON.stringify(urls) === JSON.stringify(expected.calls) ? undefined : `calls ${urls}`
  }
  return said.text === expected.text ? undefined : `${said.text?.slice(0, 80)}`
}
