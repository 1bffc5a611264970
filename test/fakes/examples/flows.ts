import { call, type Play } from './conversation.ts'

/** Fetches, stores, notes and sums up; news that were told before are left out. */
export const releaseNotes: Play = ({ said, prompt, done }) => {
  const page = /https?:\/\/[^\s?]+/.exec(said.at(-1)!)?.[0] ?? /else (\S+)\.$/m.exec(prompt)![1]!
  const of = (name: string) => done.find((one) => one.name === name)
  const fetched = of('http__get')
  if (!fetched) return call('http__get', { url: page })
  const told = of('memory__recall')
  if (!told) return call('memory__recall', { scope: 'agent', query: page })
  const before = [...JSON.stringify(told.output).matchAll(/Told of (\S+)/g)].map(([, tag]) => tag)
  const releases = JSON.parse(fetched.output.text) as { tag_name: string; body: string }[]
  const at = releases.findIndex((one) => before.includes(one.tag_name))
  const fresh = at < 0 ? releases : releases.slice(0, at)
  if (fresh.length === 0) return { text: 'Nothing new.' }
  const stored = done.filter(({ name }) => name === 'files__write')
  const next = fresh[stored.length]
  if (next) return call('files__write', { path: `releases/${next.tag_name}.md`, text: next.body })
  if (!of('memory__remember'))
    return call('memory__remember', {
      scope: 'agent',
      fact: `Told of ${fresh[0]!.tag_name} of ${page}.`,
    })
  return { text: fresh.map((one) => `${one.tag_name}: ${one.body}`).join('\n') }
}

const apiIn = (text: string) => /https?:\/\/[\w-]+(\.[\w-]+)*(:\d+)?/.exec(text)![0]
const repo = 'acme/parse'

export const bugReporter: Play = ({ said, done }) => {
  const api = apiIn(said[0]!)
  const [search, reproduction, opened] = done
  const words = (step: typeof search) => String(step?.output.result ?? step?.output)
  if (!search) return call('bug-search__run', { task: `${api}, repository ${repo}, ${said[0]}` })
  if (words(search).startsWith('Known:')) return { text: words(search) }
  if (!reproduction) return call('bug-reproduce__run', { task: said[0]!, context: words(search) })
  if (!words(reproduction).startsWith('Reproduced.')) return { text: words(reproduction) }
  if (opened) return { text: `Reproduced. ${JSON.stringify(opened.output)}` }
  return call('http__request', {
    method: 'POST',
    url: `${api}/repos/${repo}/issues`,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ title: 'parseSize loses the fraction', body: words(reproduction) }),
  })
}

export const bugSearch: Play = ({ said, done }) => {
  const api = apiIn(said[0]!)
  const read = (index: number) => done[index]?.output.text as string
  if (done.length === 0)
    return call('http__get', { url: `${api}/search/issues?q=repo:${repo}+parseSize` })
  const [known] = JSON.parse(read(0)).items
  if (known) return { text: `Known: ${known.html_url} ${known.title}` }
  if (done.length === 1)
    return call('http__get', { url: `${api}/search/code?q=repo:${repo}+parseSize` })
  const [file] = JSON.parse(read(1)).items
  if (done.length === 2) return call('http__get', { url: file.url })
  return { text: `No issue says so. ${file.path}:\n${read(2)}` }
}

/** Runs the function as it stands in what it was given. */
export const bugReproduce: Play = ({ said, done }) => {
  const source = /(function parseSize[^]*?\n\})/.exec(said.join('\n'))![1]
  const code = `${source}\nreturn { expected: 1536, actual: parseSize('1.5 KiB') }`
  const [run] = done
  if (!run) return call('code__run', { code })
  const { expected, actual } = run.output.result ?? {}
  const isSeen = actual !== undefined && expected !== actual
  return {
    text: `${isSeen ? 'Reproduced.' : 'Not reproduced.'}\n${code}\n${JSON.stringify(run.output)}`,
  }
}
