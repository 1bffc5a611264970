import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createFakeApp, testKey } from '../../fakes/http-deps.ts'
import { isola } from '../../fakes/terminal.ts'

let folder: string
let app: ReturnType<typeof createFakeApp>['app']
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'isola-memory-'))
  app = createFakeApp().app
})
afterEach(() => rmSync(folder, { recursive: true }))

const env = { ISOLA_URL: 'http://localhost', ISOLA_KEY: testKey }
/** The command over the routes themselves. */
const memory = (...argv: readonly string[]) =>
  isola(['memory', ...argv], {
    env,
    fetch: (async (url: string, init: RequestInit) => app.request(url, init)) as typeof fetch,
  })

it('C6: adds, lists, searches, shows and forgets notes', async () => {
  expect((await memory('add', 'Ada', 'likes', 'tea')).stdout).toContain('1 added, 0 merged')
  expect((await memory('add', 'Ada', 'likes', 'tea')).stdout).toContain('0 added, 1 merged')
  const { stdout } = await memory('list')
  expect(stdout).toContain('Ada likes tea')
  const id = /mem_\w+/.exec(stdout)![0]
  expect((await memory('search', 'teas')).stdout).toContain(id)
  expect((await memory('search', 'coffee')).stdout).toBe('No notes.\n')
  expect((await memory('show', id)).stdout).toMatch(/Ada likes tea[^]*from principal operator/)
  expect((await memory('forget', id, '--yes')).stdout).toBe('1 forgotten.\n')
  expect((await memory('list')).stdout).toBe('No notes.\n')
  expect((await memory('show', id)).code).toBe(1)
})

it('I21: edits a note: its id and where it came from stay', async () => {
  await memory('add', 'Ada', 'likes', 'tea')
  const id = /mem_\w+/.exec((await memory('list')).stdout)![0]
  expect((await memory('edit', id, 'Ada', 'likes', 'coffee')).stdout).toContain('Ada likes coffee')
  expect((await memory('show', id)).stdout).toMatch(/Ada likes coffee[^]*from principal operator/)
  expect(await memory('edit', id)).toMatchObject({ code: 2 })
  expect((await memory('edit', 'mem_other', 'anything')).code).toBe(1)
})

it('forgets a note everywhere: conversations first, then the note', async () => {
  await memory('add', 'Ada', 'likes', 'tea')
  const id = /mem_\w+/.exec((await memory('list')).stdout)![0]
  const { stdout } = await memory('forget', id, '--everywhere', '-y')

  expect(stdout).toBe('1 forgotten. Taken out of 1 conversations.\n')
  expect(await memory('forget', '--all', '--everywhere', '-y')).toMatchObject({ code: 2 })
})

it('exports what it imports, in the order in which it was written, and merges it again', async () => {
  const lines = [
    { text: 'How was the marathon?', conversation: 'a', kind: 'turn', speaker: 'Ada' },
    { text: 'I came in third', conversation: 'a', kind: 'turn', speaker: 'Ben' },
    { text: 'Ben lives in Ghent', kind: 'fact' },
  ].map((note) => JSON.stringify(note))
  const file = join(folder, 'notes.jsonl')
  writeFileSync(file, lines.join('\n'))
  expect((await memory('import', file, '--dry-run')).stdout).toContain('3 added')
  expect((await memory('list')).stdout).toBe('No notes.\n')
  await memory('import', file, '--agent', 'scribe')
  const { stdout } = await memory('export', '--scope', 'agent')
  const notes = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { text: string; agent: string })
  expect(notes.map(({ text, agent }) => [text, agent])).toEqual([
    ['How was the marathon?', 'scribe'],
    ['I came in third', 'scribe'],
    ['Ben lives in Ghent', 'scribe'],
  ])
  writeFileSync(file, `${stdout.trim().split('\n')[2]}\n`)
  expect((await memory('import', file, '--agent', 'scribe')).stdout).toContain('0 added, 1 merged')
  expect((await memory('list', '--scope', 'principal')).stdout).toBe('No notes.\n')
  expect((await memory('forget', '--all', '-y')).stdout).toBe('3 forgotten.\n')
})

it('imports a note that takes the place of another, as add --replaces does', async () => {
  const file = join(folder, 'replacing.jsonl')
  writeFileSync(file, JSON.stringify({ text: 'Ben lives in Ghent' }))
  await memory('import', file)
  const [note] = JSON.parse((await memory('list', '--json')).stdout).notes
  writeFileSync(file, JSON.stringify({ text: 'Ben lives in Bruges', replaces: note.id }))
  expect((await memory('import', file)).stdout).toContain('1 in the place of another')
  const { notes } = JSON.parse((await memory('list', '--json')).stdout)
  expect(notes).toMatchObject([{ id: note.id, text: 'Ben lives in Bruges' }])
  await memory('forget', '--all', '-y')
})

it('says what is wrong with a command line or a file', async () => {
  expect(await memory('list', '--scope', 'mine')).toMatchObject({ code: 2 })
  expect(await memory('forget', '-y')).toMatchObject({ code: 2 })
  expect((await memory('forget', '--all')).stderr).toContain('--yes is needed')
  const file = join(folder, 'bad.jsonl')
  writeFileSync(file, '{"text": "fine"}\nnot json')
  expect((await memory('import', file)).stderr).toContain('bad.jsonl, line 2: not JSON.')
})
