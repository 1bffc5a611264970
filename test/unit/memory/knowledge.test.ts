import { describe, expect, test, vi } from 'vitest'
import type { KnowledgeStore, NewPassage } from '../../../src/features/record/types/knowledge.ts'
import { citationOf } from '../../../src/features/memory/types.ts'
import { labelFrom } from '../../../src/contracts/label.ts'
import type { NotePlace } from '../../../src/contracts/long-term.ts'
import {
  createNoteStorage,
  createTestDocuments,
  createTestNotes,
  readDocument,
} from '../../fakes/long-term.ts'
import { masterKeyOf } from '../../fakes/secrets.ts'

const put = (
  store: KnowledgeStore,
  name: string,
  texts: readonly (string | NewPassage)[],
  { place = 'principal', ...more }: { place?: NotePlace; hash?: string; dryRun?: boolean } = {},
) => {
  const passages = texts.map((text) => (typeof text === 'string' ? { text } : text))
  const { hash = JSON.stringify(passages), dryRun = false } = more
  const about = { name, type: 'text', hash, chars: 0, label: labelFrom('knowledge') } as const
  return store({ verb: 'put', place, document: about, passages, dryRun })
}
const found = async (store: KnowledgeStore, query: string, places?: readonly NotePlace[]) =>
  (await store({ verb: 'search', query, limit: 10, ...(places && { places }) })).passages!
const read = (text: string, type: 'markdown' | 'text' = 'markdown') => readDocument({ type, text })

describe('I21, C6: documents that agents look things up in', () => {
  test('a passage is found with its document, heading, page and place', async () => {
    const store = createTestDocuments()
    await put(store, 'tea.pdf', [{ text: 'Steep for three minutes', page: 4, headings: ['Green'] }])
    await put(store, 'coffee.md', ['Grind it fresh'])
    const [hit, ...others] = await found(store, 'how long to steep')
    expect(others).toEqual([])
    expect(hit).toMatchObject({ document: { name: 'tea.pdf' }, page: 4, part: 1 })
    expect(citationOf(hit!)).toBe('tea.pdf, “Green”, page 4')
  })

  test('is found by its heading and by what the document is called', async () => {
    const store = createTestDocuments()
    await put(store, 'leave-policy.md', [{ text: 'Ask your lead.', headings: ['Sabbatical'] }])
    expect(await found(store, 'sabbatical')).toHaveLength(1)
    expect(await found(store, 'leave policy')).toHaveLength(1)
  })

  test('the same document again changes nothing; another text under its name takes its place', async () => {
    const store = createTestDocuments()
    const first = await put(store, 'a.md', ['The office opens at eight', 'Lunch is at noon'])
    expect(first.state).toBe('added')
    const again = await put(store, 'a.md', ['The office opens at eight', 'Lunch is at noon'])
    expect(again).toMatchObject({ state: 'same', documents: [{ id: first.documents![0]!.id }] })
    const changed = await put(store, 'a.md', ['The office opens at nine'])
    expect(changed).toMatchObject({ state: 'changed', documents: [{ passages: 1 }] })
    expect((await found(store, 'office')).map(({ text }) => text)).toEqual([
      'The office opens at nine',
    ])
    expect(await found(store, 'lunch')).toEqual([])
  })

  test('a removed document is found no more, and its words are in no row', async () => {
    const storage = createNoteStorage()
    const store = createTestDocuments({ storage })
    const { documents } = await put(store, 'a.md', ['Periwinkles need shade'])
    await put(store, 'b.md', ['Roses need sun'])
    const { id } = documents![0]!
    expect(await store({ verb: 'forget', ids: [id] })).toEqual({ forgotten: 1 })
    expect(await found(store, 'periwinkles')).toEqual([])
    await expect(store({ verb: 'get', id })).rejects.toMatchObject({ code: 'request_not_found' })
    expect(storage.dump()).not.toContain(id)
    await store({ verb: 'forget' })
    expect(storage.dump()).toBe('')
  })

  test('nothing of one place is found in another, and one name may be in each', async () => {
    const store = createTestDocuments()
    await put(store, 'a.md', ['Marmalade one'])
    await put(store, 'a.md', ['Marmalade two'], { place: 'agent:scribe' })
    const inPlace = async (place: NotePlace) =>
      (await found(store, 'marmalade', [place])).map(({ text }) => text)
    expect(await inPlace('principal')).toEqual(['Marmalade one'])
    expect(await inPlace('agent:scribe')).toEqual(['Marmalade two'])
    expect(await inPlace('agent:clerk')).toEqual([])
    await store({ verb: 'forget', places: ['agent:scribe'] })
    expect(await inPlace('principal')).toHaveLength(1)
    expect(await inPlace('agent:scribe')).toEqual([])
  })

  test('a dry run says what would become of it', async () => {
    const store = createTestDocuments()
    expect((await put(store, 'a.md', ['One'], { dryRun: true })).state).toBe('added')
    expect(await found(store, 'one')).toEqual([])
  })

  test('a dry run leaves nothing behind, not even a key', async () => {
    const storage = createNoteStorage()
    const store = createTestDocuments({ storage })
    expect((await put(store, 'a.md', ['One'], { dryRun: true })).state).toBe('added')
    expect(storage.dump()).toBe('')
    const { documents } = await put(store, 'a.md', ['One'])
    // With a key it is told which one it would be.
    expect(await put(store, 'a.md', ['Two'], { dryRun: true })).toMatchObject({
      state: 'changed',
      documents: [{ id: documents![0]!.id }],
    })
  })

  test('room is counted in bytes: a letter of another script takes more than one', async () => {
    const store = createTestDocuments()
    const many = ['水'.repeat(1_000_000), 'ß'.repeat(1_000_000)]
    await expect(put(store, 'a.md', many)).rejects.toMatchObject({ code: 'request_conflict' })
  })

  test('forgetting all looks at each passage once, however many documents there are', async () => {
    const store = createTestDocuments()
    for (let at = 0; at < 60; at += 1) await put(store, `${at}.md`, [`One ${at}`, `Two ${at}`])
    const looks = vi.spyOn(Number.prototype, 'toString')
    expect(await store({ verb: 'forget' })).toEqual({ forgotten: 60 })
    const looked = looks.mock.calls.length
    looks.mockRestore()
    expect(looked).toBeLessThan(60 * 2 * 3)
  })

  test('refuses what a place has no room for, with what is the most, and keeps what was there', async () => {
    const store = createTestDocuments()
    const text = 'word '.repeat(400)
    const many = Array.from({ length: 1_500 }, (_one, at) => `${at} ${text}`)
    await put(store, 'a.md', many)
    await expect(put(store, 'b.md', many)).rejects.toMatchObject({
      code: 'request_conflict',
      message: expect.stringContaining('8 MiB is the most'),
    })
    expect((await store({ verb: 'list', limit: 10 })).documents).toHaveLength(1)
    // What it replaces makes the room.
    expect((await put(store, 'a.md', many.toReversed())).state).toBe('changed')
  })

  test('lists in pages, each document once', async () => {
    const store = createTestDocuments()
    for (const at of [1, 2, 3]) await put(store, `${at}.md`, [`Number ${at}`])
    const first = await store({ verb: 'list', limit: 2 })
    const second = await store({ verb: 'list', limit: 2, after: first.next! })
    const names = [...first.documents!, ...second.documents!].map(({ name }) => name)
    expect(names.toSorted()).toEqual(['1.md', '2.md', '3.md'])
    expect(second.next).toBeUndefined()
  })
})

describe('I28: documents are sealed as notes are', () => {
  test('no word, name or hash of one is in any row', async () => {
    const storage = createNoteStorage()
    const store = createTestDocuments({ storage })
    const passage = { text: 'The quagmire report', headings: ['Xylophone'] }
    await put(store, 'ottoline.md', [passage], { hash: 'deadbeef' })
    for (const word of ['quagmire', 'Xylophone', 'ottoline', 'deadbeef'])
      expect(storage.dump()).not.toContain(word)
  })

  test('a rotated master key opens them, and needs the one before no more', async () => {
    const storage = createNoteStorage()
    const [old, current] = [masterKeyOf(1), masterKeyOf(2)]
    await put(createTestDocuments({ storage, masterKeys: [old] }), 'a.md', ['Periwinkles'])
    const during = createTestDocuments({ storage, masterKeys: [current, old] })
    expect((await during({ verb: 'reseal' })).key).toBe('rotated')
    const after = createTestDocuments({ storage, masterKeys: [current] })
    expect(await found(after, 'periwinkles')).toHaveLength(1)
    const without = createTestDocuments({ storage, masterKeys: [old] })
    await expect(found(without, 'periwinkles')).rejects.toMatchObject({ code: 'config_invalid' })
  })

  test('notes beside them in one object have a key and a place of their own', async () => {
    const storage = createNoteStorage()
    const [notes, documents] = [createTestNotes({ storage }), createTestDocuments({ storage })]
    await notes({ verb: 'add', place: 'principal', notes: [{ text: 'Ada likes tea' }] })
    await put(documents, 'a.md', ['Tea is a drink'])
    expect(await found(documents, 'Ada')).toEqual([])
    expect((await notes({ verb: 'search', query: 'drink', limit: 5 })).notes).toEqual([])
    await notes({ verb: 'forget' })
    expect(await found(documents, 'tea')).toHaveLength(1)
  })
})

describe('how a document becomes passages', () => {
  test('Markdown: under its headings, a fence whole, front matter left out', async () => {
    const { title, passages } = await read(
      [
        '---',
        'x: 1',
        '---',
        '# Tea',
        'Intro.',
        '',
        '## Green',
        '```sh',
        '# no heading',
        '',
        'x',
        '```',
        '# Coffee',
        'Black.',
      ].join('\n'),
    )
    expect(title).toBe('Tea')
    expect(passages).toEqual([
      { text: 'Intro.', headings: ['Tea'], line: 5 },
      { text: '```sh\n# no heading\n\nx\n```', headings: ['Tea', 'Green'], line: 8 },
      { text: 'Black.', headings: ['Coffee'], line: 14 },
    ])
  })

  test('long texts: bounded, ending with a sentence, each with the end of the one before', async () => {
    const sentences = Array.from({ length: 400 }, (_one, at) => `This is sentence number ${at}.`)
    const { passages } = await read(sentences.join(' '), 'text')
    expect(passages.length).toBeGreaterThan(5)
    for (const { text } of passages) {
      expect(text.length).toBeLessThanOrEqual(2_400)
      expect(text.endsWith('.')).toBe(true)
    }
    for (const sentence of sentences)
      expect(passages.some(({ text }) => text.includes(sentence))).toBe(true)
    const last = passages[0]!.text.split('. ').at(-1)!
    expect(passages[1]!.text).toContain(last)
  })

  test('text without any blank is cut, and no character is torn', async () => {
    const { passages } = await read('😀'.repeat(3_000), 'text')
    expect(passages.length).toBeGreaterThan(2)
    for (const { text } of passages) expect(text.isWellFormed()).toBe(true)
  })

  test('pages stay apart, and are named', async () => {
    const { passages } = await readDocument({ type: 'pages', pages: ['One.', '', 'Three.'] })
    expect(passages).toEqual([
      { text: 'One.', page: 1 },
      { text: 'Three.', page: 3 },
    ])
  })

  test.each([
    [{ type: 'text', text: '%PDF-1.7 …' }, /isola knowledge add <file>\.pdf/],
    [{ type: 'text' }, /^text: is what a document of type text has/],
    [{ type: 'pages', text: 'x' }, /^pages: /],
    [{ type: 'text', text: 'x', pages: ['x'] }, /^pages: is not for type text/],
    [{ type: 'text', text: ' \n ' }, /nothing that can be read/],
    [{ type: 'text', text: 'a\0b' }, /zero bytes/],
    [{ type: 'text', text: 'x'.repeat(2_000_001) }, /more than 2000000 characters/],
    [
      {
        type: 'markdown',
        text: Array.from({ length: 2_001 }, (_one, at) => `# ${at}\nb\n`).join(''),
      },
      /more than 2000 passages/,
    ],
  ] as const)('refuses what is none: %#', async (given, message) => {
    await expect(readDocument(given)).rejects.toThrow(message)
  })
})
