import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createFakeApp, testKey } from '../../fakes/http-deps.ts'
import { twoPages } from '../../fakes/pdf.ts'
import { isola } from '../../fakes/terminal.ts'

let folder: string
let app: ReturnType<typeof createFakeApp>['app']
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'isola-knowledge-'))
  app = createFakeApp().app
})
afterEach(() => rmSync(folder, { recursive: true }))

const env = { ISOLA_URL: 'http://localhost', ISOLA_KEY: testKey }
/** The command over the routes themselves; other addresses have a page. */
const knowledge = (...argv: readonly string[]) =>
  isola(['knowledge', ...argv], {
    env,
    fetch: (async (url: string, init: RequestInit) =>
      String(url).startsWith('http://localhost')
        ? app.request(url, init)
        : new Response('Tea of the web', {
            headers: { 'content-type': 'text/plain' },
          })) as typeof fetch,
  })
const file = (path: string, content: string | Uint8Array) => {
  mkdirSync(join(folder, path, '..'), { recursive: true })
  writeFileSync(join(folder, path), content)
}

it('I21: adds a folder, finds passages with where they are, and leaves what is as it was', async () => {
  file('pages/tea.md', '# Tea\n\n## Green\nSteep for three minutes.\n')
  file('pages/deep/coffee.txt', 'Grind it fresh.')
  file('pages/logo.png', 'x')
  file('pages/.git/hidden.md', 'hidden')
  const first = await knowledge('add', join(folder, 'pages'))
  expect(first.stdout).toContain('2 added, 0 changed, 0 as they were.')
  expect((await knowledge('search', 'how', 'long', 'steep')).stdout).toMatch(
    /tea\.md, “Tea › Green”, line 4\]\n {2}Steep for three minutes/,
  )
  file('pages/tea.md', '# Tea\n\nBoil it.\n')
  const second = await knowledge('add', join(folder, 'pages'))
  expect(second.stdout).toContain('0 added, 1 changed, 1 as they were.')
  expect((await knowledge('search', 'minutes')).stdout).toBe('Nothing was found.\n')
})

it('reads a PDF by pages, in a process of its own', async () => {
  file('two.pdf', twoPages)
  expect((await knowledge('add', join(folder, 'two.pdf'))).stdout).toContain('1 added')
  expect((await knowledge('search', 'second')).stdout).toContain('two.pdf, page 2]')
})

it('goes on behind a file that cannot be read, says why, and ends with 1', async () => {
  file('a.pdf', '%PDF-1.7 nothing of one')
  file('b.txt', new Uint8Array([0xff, 0xfe, 0x00]))
  file('c.txt', 'Fine.')
  const { stdout, stderr, code } = await knowledge('add', folder)
  expect(code).toBe(1)
  expect(stdout).toContain('1 added, 0 changed, 0 as they were, 2 failed.')
  expect(stderr).toMatch(/a\.pdf: The PDF cannot be read/)
  expect(stderr).toMatch(/b\.txt: It is not text in UTF-8/)
  expect((await knowledge('add', join(folder, 'none'))).stderr).toContain('no such file or folder')
})

it('lists, shows and removes by name or id; an address is read too', async () => {
  await knowledge('add', 'https://tea.example.com/page', '--agent', 'scribe')
  const { stdout } = await knowledge('list')
  expect(stdout).toMatch(/scribe .* foreign .* https:\/\/tea\.example\.com\/page/)
  const id = /doc_\w+/.exec(stdout)![0]
  expect((await knowledge('show', id)).stdout).toContain('Tea of the web')
  const removed = await knowledge('remove', 'https://tea.example.com/page', '--yes')
  expect(removed.stdout).toBe('1 removed.\n')
  expect((await knowledge('list')).stdout).toBe('No documents.\n')
  expect((await knowledge('remove', id, '--yes')).stderr).toContain('there is no such document')
  expect((await knowledge('remove', '--yes')).stderr).toContain('Name documents, or --all.')
})

it('removes what was added from under a folder, and one by its file name', async () => {
  file('pages/tea.md', '# Tea\n\nSteep it.')
  file('pages/deep/coffee.txt', 'Grind it.')
  file('more/tea.md', '# More tea\n\nBoil it.')
  await knowledge('add', join(folder, 'pages'), join(folder, 'more'))
  const several = await knowledge('remove', 'tea.md', '--yes')
  expect([several.code, several.stderr]).toEqual([1, expect.stringContaining('name of several')])
  expect((await knowledge('remove', 'coffee.txt', 'none.md', '--yes')).code).toBe(1)
  expect((await knowledge('remove', 'coffee.txt', '--yes')).stdout).toBe('1 removed.\n')
  expect((await knowledge('remove', `${folder}/pages/`, '--yes')).stdout).toBe('1 removed.\n')
  expect((await knowledge('list')).stdout).toContain('more/tea.md')
})

it('a document for all principals’ agents is added to the deployment', async () => {
  file('rules.md', 'No smoking.')
  await knowledge('add', join(folder, 'rules.md'), '--scope', 'deployment')
  expect((await knowledge('list')).stdout).toBe('No documents.\n')
  expect((await knowledge('list', '--scope', 'deployment')).stdout).toContain('rules.md')
  const gone = await knowledge('remove', '--all', '--scope', 'deployment', '--yes')
  expect(gone.stdout).toBe('1 removed.\n')
})

it.each([
  ['a file', ['tea.md'], 'data', 'mine'],
  ['a file of somebody else', ['tea.md', '--foreign'], 'stranger', 'foreign'],
  ['a file in Japanese', ['お茶.txt'], 'data', 'mine'],
  ['a folder', ['.'], 'data', 'mine'],
  ['an address', ['https://tea.example.com/page'], 'stranger', 'foreign'],
  [
    'an address that is said to be foreign',
    ['https://tea.example.com/page', '--foreign'],
    'stranger',
    'foreign',
  ],
])('whose it is: %s', async (_, [what = '', ...more], integrity, whose) => {
  file('tea.md', '# Tea\n\nSteep it.')
  file('お茶.txt', '煎茶')
  const path = what.startsWith('https:') ? what : join(folder, what)
  const { stdout } = await knowledge('add', path, ...more, '--json')
  for (const { document } of JSON.parse(stdout).documents)
    expect(document.label).toMatchObject({ integrity })
  expect((await knowledge('list')).stdout.split('\n')[1]).toContain(` ${whose} `)
})

it('an own document becomes foreign with --foreign, though its text is the same', async () => {
  file('tea.md', '# Tea\n\nSteep it.')
  await knowledge('add', join(folder, 'tea.md'))
  expect((await knowledge('add', join(folder, 'tea.md'), '--foreign')).stdout).toContain(
    '1 changed',
  )
  expect((await knowledge('list')).stdout).toContain(' foreign ')
  expect((await knowledge('add', join(folder, 'tea.md'), '--foreign')).stdout).toContain(
    '1 as they were',
  )
})
