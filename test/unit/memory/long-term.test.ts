import { describe, expect, test } from 'vitest'
import { joinLabels, labelFrom, saidLabel } from '../../../src/contracts/label.ts'
import type { LongTermMemory, NewNote, NotePlace } from '../../../src/contracts/long-term.ts'
import { createNoteStorage, createTestNotes } from '../../fakes/long-term.ts'
import { masterKeyOf } from '../../fakes/secrets.ts'

const add = (memory: LongTermMemory, notes: readonly (string | NewNote)[], place?: NotePlace) =>
  memory({
    verb: 'add',
    place: place ?? 'principal',
    notes: notes.map((note) => (typeof note === 'string' ? { text: note } : note)),
  })
const found = async (memory: LongTermMemory, query: string, places?: readonly NotePlace[]) =>
  (await memory({ verb: 'search', query, limit: 10, ...(places && { places }) })).notes!.map(
    ({ text }) => text,
  )

describe('I21: long-term memory', () => {
  test('finds by what a note says, whoever said it, and when; nothing for words that are not there', async () => {
    const memory = createTestNotes()
    await add(memory, [
      { text: 'I adopted a puppy', speaker: 'Nora', date: '8 May 2026' },
      { text: 'The rent is due on Friday', caption: 'a calendar with a red circle' },
      'Lunch is at noon',
    ])
    expect(await found(memory, 'adopting puppies')).toEqual(['I adopted a puppy'])
    expect(await found(memory, 'what did Nora say?')).toEqual(['I adopted a puppy'])
    expect(await found(memory, 'what happened in May')).toEqual(['I adopted a puppy'])
    expect(await found(memory, 'red circle')).toEqual(['The rent is due on Friday'])
    expect(await found(memory, 'zebra')).toEqual([])
    expect(await found(memory, '')).toEqual([])
  })

  test('a turn is found by its neighbours in the same conversation, behind the one that has the words', async () => {
    const memory = createTestNotes()
    const turn = (conversation: string, text: string): NewNote => ({
      text,
      conversation,
      kind: 'turn',
    })
    await add(memory, [
      turn('a', 'How was the marathon?'),
      turn('b', 'Good morning'),
      turn('a', 'I came in third!'),
      turn('a', 'Wow'),
      turn('a', 'See you'),
    ])
    expect(await found(memory, 'marathon')).toEqual([
      'How was the marathon?',
      'I came in third!',
      'Wow',
    ])
  })

  test('what says the same is merged, with both origins and the worse label', async () => {
    const memory = createTestNotes()
    const stranger = labelFrom('http__get example.com')
    await add(memory, [
      { text: 'Anna works at the library', label: saidLabel, origin: { session: 'one' } },
    ])
    const { added } = await add(memory, [
      { text: 'Anna works at the library.', label: stranger, origin: { session: 'two' } },
    ])
    expect(added).toMatchObject([{ state: 'merged' }])
    const { notes } = await memory({ verb: 'list', limit: 10 })
    expect(notes).toHaveLength(1)
    expect(notes![0]!.origins).toEqual([{ session: 'two' }, { session: 'one' }])
    expect(notes![0]!.label).toEqual(joinLabels([saidLabel, stranger]))
  })

  test.each([
    ['Anna lives in Berlin near the park', 'Anna lives in Munich near the park'],
    ['Anna drinks coffee in the morning', 'Anna does not drink coffee in the morning'],
    ['The budget is 500 euros a month', 'The budget is 600 euros a month'],
  ])('a contradiction is kept beside what was there, and named: %s', async (before, after) => {
    let nowMs = 1_000
    const memory = createTestNotes({ nowMs: () => nowMs })
    const first = (await add(memory, [before])).added![0]!
    nowMs = 2_000
    const { added } = await add(memory, [after])
    expect(added).toMatchObject([{ state: 'added', differsFrom: [first.id] }])
    const { notes } = await memory({ verb: 'list', limit: 10 })
    expect(notes!.map(({ text, createdAtMs }) => [text, createdAtMs])).toEqual([
      [after, 2_000],
      [before, 1_000],
    ])
  })

  test('two that say something else, and two turns that say the same, stay two', async () => {
    const memory = createTestNotes()
    await add(memory, [
      { text: 'Thanks!', kind: 'turn' },
      { text: 'Thanks!', kind: 'turn' },
      'Anna likes green tea',
      'Ben repairs bicycles',
    ])
    expect((await memory({ verb: 'list', limit: 10 })).notes).toHaveLength(4)
  })

  test('a note without a label has the worst, and one that is changed keeps what it had', async () => {
    const memory = createTestNotes()
    const { added } = await add(memory, ['Somebody wrote this'])
    const { notes } = await memory({
      verb: 'edit',
      id: added![0]!.id,
      change: { text: 'Somebody else wrote this', label: saidLabel },
    })
    expect(notes![0]).toMatchObject({
      text: 'Somebody else wrote this',
      label: { integrity: 'stranger', confidentiality: 'private' },
    })
    expect(await found(memory, 'else')).toHaveLength(1)
  })

  test('bad notes are refused by the name of their field', async () => {
    const memory = createTestNotes()
    await expect(add(memory, [' '])).rejects.toMatchObject({ param: 'text' })
    await expect(add(memory, ['x'.repeat(4_001)])).rejects.toMatchObject({ param: 'text' })
    await expect(add(memory, [{ text: 'a', speaker: 'x'.repeat(101) }])).rejects.toMatchObject({
      code: 'request_invalid',
      param: 'speaker',
    })
  })
})

describe('C6: what a memory may hold', () => {
  test('a run may write so often, over all its requests', async () => {
    const memory = createTestNotes()
    const write = (text: string, run = 'run_1') =>
      memory({ verb: 'add', place: 'principal', notes: [{ text }], budget: { run, most: 2 } })
    await write('one apple')
    await write('two pears')
    await expect(write('three plums')).rejects.toMatchObject({ code: 'tool_failed' })
    await expect(write('four figs', 'run_2')).resolves.toMatchObject({ evicted: 0 })
  })

  test('a dry run says what would become of a note, and changes nothing', async () => {
    const memory = createTestNotes()
    await add(memory, ['Anna works at the library'])
    const dry = await memory({
      verb: 'add',
      place: 'principal',
      notes: [{ text: 'Anna works at the library' }, { text: 'Ben repairs bicycles' }],
      dryRun: true,
      budget: { run: 'run_1', most: 2 },
    })
    expect(dry.added).toMatchObject([{ state: 'merged' }, { state: 'added' }])
    expect((await memory({ verb: 'list', limit: 10 })).notes).toHaveLength(1)
  })

  test('the oldest go when a place is full, and are found no more', async () => {
    let nowMs = 0
    const memory = createTestNotes({ nowMs: () => (nowMs += 1) })
    const turns = Array.from({ length: 10_002 }, (_, index) => ({
      text: `turn ${index}`,
      kind: 'turn' as const,
    }))
    expect((await add(memory, turns)).evicted).toBe(2)
    expect(await found(memory, '0')).toEqual([])
    expect(await found(memory, '2')).toEqual(['turn 2'])
    expect((await memory({ verb: 'stats' })).stats).toMatchObject([
      { scope: 'principal', notes: 10_000 },
    ])
  })
})

describe('I28: memory at rest', () => {
  const secret: NewNote = {
    text: 'The vault opens with periwinkle',
    speaker: 'Ottoline',
    caption: 'a photograph of a marmalade lighthouse',
    date: 'Michaelmas',
    conversation: 'the gazebo talk',
    label: labelFrom('quokka__get'),
    origin: { tool: 'wombat__remember', agent: 'numbat' },
  }
  const words =
    'vault opens periwinkle ottoline photograph marmalade lighthouse michaelmas gazebo quokka wombat numbat'

  test('no word of a note is in any row, and all of them find it', async () => {
    const storage = createNoteStorage()
    const memory = createTestNotes({ storage })
    await add(memory, [secret])
    const rows = storage.dump().toLowerCase()
    expect(rows.length).toBeGreaterThan(300)
    expect(words.split(' ').filter((word) => rows.includes(word))).toEqual([])
    for (const word of words.split(' ').slice(0, 8))
      expect(await found(memory, word)).toEqual([secret.text])
  })

  test('under another master key nothing opens, and the error says what to do', async () => {
    const storage = createNoteStorage()
    await add(createTestNotes({ storage }), [secret])
    const other = createTestNotes({ storage, masterKeys: [masterKeyOf(2)] })
    await expect(found(other, 'periwinkle')).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining('ISOLA_MASTER_KEY_PREVIOUS'),
    })
  })

  test('a rotated master key opens it, and needs the one before no more', async () => {
    const storage = createNoteStorage()
    await add(createTestNotes({ storage }), [secret])
    const during = createTestNotes({ storage, masterKeys: [masterKeyOf(2), masterKeyOf(1)] })
    expect((await during({ verb: 'reseal' })).key).toBe('rotated')
    expect((await during({ verb: 'reseal' })).key).toBe('current')
    const after = createTestNotes({ storage, masterKeys: [masterKeyOf(2)] })
    expect(await found(after, 'periwinkle')).toEqual([secret.text])
    expect((await createTestNotes()({ verb: 'reseal' })).key).toBe('none')
  })

  test('a row of one object opens in no other, nor under another id', async () => {
    const storage = createNoteStorage()
    await add(createTestNotes({ storage }), [secret])
    await expect(
      found(createTestNotes({ storage, owner: 'another' }), 'periwinkle'),
    ).rejects.toMatchObject({ code: 'config_invalid' })
    storage.sql.exec(`UPDATE memory_notes SET id = 'mem_9' WHERE id = ?`, 'mem_1')
    await expect(found(createTestNotes({ storage }), 'periwinkle')).rejects.toThrow()
  })

  test('the same word is another hash in another object', async () => {
    const [one, other] = [createNoteStorage(), createNoteStorage()]
    for (const storage of [one, other]) await add(createTestNotes({ storage }), ['periwinkle'])
    const wordsIn = (storage: typeof one) =>
      String(
        new Uint8Array(
          storage.sql.exec('SELECT words FROM memory_notes').toArray()[0]!['words'] as ArrayBuffer,
        ),
      )
    expect(wordsIn(one)).not.toEqual(wordsIn(other))
  })
})

describe('what is forgotten', () => {
  test('by its id: no search, list or page has it, nor any row', async () => {
    const storage = createNoteStorage()
    const memory = createTestNotes({ storage })
    const { added } = await add(memory, ['The vault opens with periwinkle', 'Lunch is at noon'])
    const id = added![0]!.id
    expect(await memory({ verb: 'forget', ids: [id] })).toEqual({ forgotten: 1 })
    expect(await found(memory, 'periwinkle vault')).toEqual([])
    await expect(memory({ verb: 'get', id })).rejects.toMatchObject({ code: 'request_not_found' })
    expect(storage.dump()).not.toContain(id)
    expect(await found(createTestNotes({ storage }), 'periwinkle')).toEqual([])
    expect(await memory({ verb: 'forget', ids: [id] })).toEqual({ forgotten: 0 })
  })

  test('by a session: also what was merged with something from elsewhere', async () => {
    const memory = createTestNotes()
    await add(memory, [
      { text: 'Anna works at the library', origin: { session: 'ses_1' } },
      { text: 'Anna works at the library', origin: { session: 'ses_2' } },
      { text: 'Ben repairs bicycles', origin: { session: 'ses_10' } },
    ])
    expect(await memory({ verb: 'forget', session: 'ses_1' })).toEqual({ forgotten: 1 })
    expect(await found(memory, 'Anna Ben')).toEqual(['Ben repairs bicycles'])
  })

  test('all of it: the key goes too, and what is remembered afterwards has another', async () => {
    const storage = createNoteStorage()
    const memory = createTestNotes({ storage })
    await add(memory, ['periwinkle'])
    await memory({ verb: 'forget' })
    expect(
      storage.sql.exec(`SELECT name FROM sqlite_master WHERE name = 'memory_key'`).toArray(),
    ).toEqual([])
    expect(await found(memory, 'periwinkle')).toEqual([])
    await add(memory, ['marmalade'])
    expect(await found(createTestNotes({ storage }), 'marmalade')).toEqual(['marmalade'])
  })
})

describe('Y31: scopes', () => {
  test('what is in one place is not found, read or forgotten from another', async () => {
    const memory = createTestNotes()
    const places: readonly NotePlace[] = ['principal', 'agent:one', 'agent:two']
    const ids: string[] = []
    for (const place of places)
      ids.push((await add(memory, [`periwinkle of ${place}`], place)).added![0]!.id)
    for (const [at, place] of places.entries()) {
      expect(await found(memory, 'periwinkle', [place])).toEqual([`periwinkle of ${place}`])
      const { notes } = await memory({ verb: 'list', places: [place], limit: 10 })
      expect(notes).toHaveLength(1)
      const other = ids[(at + 1) % ids.length]!
      await expect(memory({ verb: 'get', places: [place], id: other })).rejects.toMatchObject({
        code: 'request_not_found',
      })
      expect(await memory({ verb: 'forget', places: [place], ids: [other] })).toEqual({
        forgotten: 0,
      })
    }
    expect(await memory({ verb: 'forget', places: ['agent:one'] })).toEqual({ forgotten: 1 })
    expect(await found(memory, 'periwinkle')).toHaveLength(2)
  })
})
