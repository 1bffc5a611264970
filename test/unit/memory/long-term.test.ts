import { describe, expect, test } from 'vitest'
import { joinLabels, labelFrom, saidLabel } from '../../../src/contracts/label.ts'
import type { LongTermMemory, NewNote, NotePlace } from '../../../src/contracts/long-term.ts'
import { createRedactor } from '../../../src/features/record/redactor.ts'
import { redacted } from '../../../src/features/memory/long-term/memory-gateway.ts'
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
  test('finds by a note’s text, speaker and date; nothing for words that are not there', async () => {
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

  test('notes that say the same are merged, with both origins and the worse label', async () => {
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

/** Two notes with much the same words that say different things. */
const differing: Readonly<Record<string, readonly [string, string]>> = {
  'order, English': ['Ben pays Carla on Mondays', 'Carla pays Ben on Mondays'],
  'order, German': ['Der Hund beißt den Mann', 'Den Mann beißt der Hund'],
  'order, Japanese': ['田中さんは鈴木さんを呼んだ', '鈴木さんは田中さんを呼んだ'],
  'on and off': ['Leave the heating on over the weekend', 'Leave the heating off over the weekend'],
  'with and without': ['Pizza with mushrooms, please', 'Pizza without mushrooms, please'],
  'until and from': ['The office is closed until Friday', 'The office is closed from Friday'],
  'his and their': ['His flat has a garden', 'Their flat has a garden'],
  'a modal': ['Guests must not park here', 'Guests need not park here'],
  'a sign': ['The balance is 20 euros', 'The balance is -20 euros'],
  'plus or minus': ['Tolerance +3 mm', 'Tolerance ±3 mm'],
  'less or more': ['Alert when load < 80', 'Alert when load > 80'],
  'a decimal point': ['The dose is 25 mg', 'The dose is 2.5 mg'],
  'a language': ['She writes C code at work', 'She writes C# code at work'],
  'an exponent': ['The area is 5 m', 'The area is 5 m²'],
  'a factorial': ['The answer is 5', 'The answer is 5!'],
  'a question': ['Mia is coming', 'Mia is coming?'],
  emoji: ['Feedback of the client: 👍', 'Feedback of the client: 👎'],
  flags: ['Ship to 🇦🇹', 'Ship to 🇦🇺'],
  'negation, Spanish': ['El equipo trabaja los viernes', 'El equipo no trabaja los viernes'],
  'negation, Turkish': ['Müşteri fatura istiyor', 'Müşteri fatura istemiyor'],
  'negation, Polish': ['Klient chce dostawać faktury', 'Klient nie chce dostawać faktury'],
  'negation, Dutch': ['Jan eet vlees op zondag', 'Jan eet geen vlees op zondag'],
  'negation, Chinese': ['他会来参加会议', '他不会来参加会议'],
  'negation, Japanese': ['彼は肉を食べる', '彼は肉を食べない'],
  'negation, Thai': ['เขาชอบกินเผ็ด', 'เขาไม่ชอบกินเผ็ด'],
  'negation, Hebrew': ['הלקוח רוצה חשבונית', 'הלקוח לא רוצה חשבונית'],
  'vowel signs, Hindi': ['कल दीपक आएगा', 'कल दीपिका आएगा'],
  'vowel signs, Tamil': ['கலா வந்தாள்', 'கலை வந்தாள்'],
  'a dakuten': ['ハンを焼く', 'パンを焼く'],
  'a particle, Korean': ['민수가 영희를 도왔다', '민수를 영희가 도왔다'],
  'an accent': ['El papa vive en Roma', 'El papá vive en Roma'],
  'tone, Vietnamese': ['Tôi mua ma', 'Tôi mua má'],
  'only signs': ['+1', '-1'],
  'a name in capitals': ['Call the US team', 'Call the us team'],
  'a name in capitals, German': ['Ich habe Sie gesehen', 'Ich habe sie gesehen'],
  'a name in capitals, French': ['Il aime Rose', 'Il aime rose'],
  'a name in capitals at the start': ['IT pays for it', 'It pays for it'],
  'a unit': ['The limit is 5 Mb', 'The limit is 5 mb'],
  'a name in capitals, Russian': ['Он любит Надежду', 'Он любит надежду'],
}
/** The same words in the same order, written in two ways. */
const same: Readonly<Record<string, readonly [string, string]>> = {
  'the case of the first letter': ['Anna works at the library', 'anna works at the library'],
  'the case of the first letter, Greek': ['Η Άννα μένει εδώ', 'η Άννα μένει εδώ'],
  blanks: ['Anna  works\tat the\u00a0library ', 'Anna works at\nthe library'],
  'a full stop': ['Anna works at the library', 'Anna works at the library.'],
  'an exclamation mark': ['Anna works at the library!', 'Anna works at the library'],
  'a full stop, Japanese': ['図書館で働いている。', '図書館で働いている'],
  'a full stop, Hindi': ['राम यहाँ रहता है।', 'राम यहाँ रहता है'],
  'a composed accent': ['Zoe\u0308 likes cafe\u0301s', 'Zo\u00eb likes caf\u00e9s'],
  'composed syllables': ['한국에 산다'.normalize('NFD'), '한국에 산다'],
  'a composed dakuten': ['ガラスを割った'.normalize('NFD'), 'ガラスを割った'],
}

describe('I21: only the same sequence of words is merged', () => {
  test.each(Object.entries(differing))(
    'a note is thrown away as `merged` though it says something else: %s',
    async (_what, [before, after]) => {
      for (const texts of [
        [before, after],
        [after, before],
      ]) {
        const memory = createTestNotes()
        const { added } = await add(memory, texts)
        expect(added!.map(({ state }) => state)).toEqual(['added', 'added'])
        const { notes } = await memory({ verb: 'list', limit: 10 })
        expect(notes!.map(({ text }) => text)).toEqual(texts.toReversed())
        expect((await add(memory, texts)).added!.map(({ id, state }) => [id, state])).toEqual(
          added!.map(({ id }) => [id, 'merged']),
        )
      }
    },
  )

  test.each(Object.entries(same))('%s does not make another note', async (_what, [one, other]) => {
    const memory = createTestNotes()
    const { added } = await add(memory, [one, other])
    expect(added!.map(({ state }) => state)).toEqual(['added', 'merged'])
    expect((await memory({ verb: 'list', limit: 10 })).notes).toHaveLength(1)
  })

  test.each([
    ['date', { date: '8 May 2026' }, { date: '9 May 2026' }],
    ['caption', { caption: 'a cat' }, { caption: 'a dog' }],
    ['speaker', { speaker: 'Ada' }, { speaker: 'Ben' }],
    ['date where the other has none', {}, { date: 'today' }],
  ])('the same words with another %s are two notes', async (_what, one, other) => {
    const memory = createTestNotes()
    await add(memory, [
      { text: 'It rained', ...one },
      { text: 'It rained', ...other },
    ])
    expect((await memory({ verb: 'list', limit: 10 })).notes).toHaveLength(2)
  })
})

describe('C5: a memory keeps no secret that the deployment knows', () => {
  const secret = 'sk-test-0123456789abcdef'
  const withoutSecrets = (memory: LongTermMemory) =>
    redacted(
      { ofPrincipal: () => memory, ofDeployment: () => memory },
      createRedactor([secret]),
    ).ofPrincipal('ada')

  test.each([
    ['a text', { text: `The key is ${secret}` }, 'The key is [redacted]'],
    ['in base64', { text: `Basic ${btoa(secret)}` }, 'Basic [redacted]'],
    ['a key of ours', { text: 'Use isk_0123456789abcdefghij now' }, 'Use [redacted] now'],
    ['a caption', { text: 'A picture', caption: secret }, '[redacted]'],
    ['a speaker', { text: 'Hello', speaker: secret }, '[redacted]'],
    ['a date', { text: 'Then', date: secret }, '[redacted]'],
  ])('%s', async (_what, note, kept) => {
    const memory = createTestNotes()
    await add(withoutSecrets(memory), [note])
    const { notes } = await memory({ verb: 'list', limit: 1 })
    expect(Object.values(notes![0]!)).toContain(kept)
    expect(JSON.stringify(notes)).not.toContain(secret)
  })

  test('nor a note that is edited', async () => {
    const memory = createTestNotes()
    const { id } = (await add(memory, ['The key is elsewhere'])).added![0]!
    const change = { text: `The key is ${secret}` }
    const { notes } = await withoutSecrets(memory)({ verb: 'edit', id, change })
    expect(notes).toMatchObject([{ text: 'The key is [redacted]' }])
  })
})

describe('I21: a note that replaces another', () => {
  const mine = { label: saidLabel }

  test('takes its place and its id, is found by its own words alone, and may be sent again', async () => {
    let nowMs = 1_000
    const memory = createTestNotes({ nowMs: () => nowMs })
    const { added } = await add(memory, [
      { text: 'Anna lives in Berlin', ...mine, origin: { session: 'one' } },
      { text: 'Ben repairs bicycles', ...mine },
    ])
    const { id } = added![0]!
    nowMs = 2_000
    const moved = { text: 'Anna lives in Munich', replaces: id, ...mine }
    for (let time = 0; time < 2; time += 1)
      expect((await add(memory, [moved])).added).toEqual([{ id, state: 'replaced' }])
    const { notes } = await memory({ verb: 'get', id })
    expect(notes).toMatchObject([{ text: 'Anna lives in Munich', createdAtMs: 2_000, origins: [] }])
    expect(notes![0]).not.toHaveProperty('replaces')
    expect(await found(memory, 'Berlin')).toEqual([])
    expect(await found(memory, 'Munich')).toEqual(['Anna lives in Munich'])
    expect((await memory({ verb: 'list', limit: 10 })).notes).toHaveLength(2)
  })

  test.each([
    ['明日は休みだ', '明日は休みではない'],
    ['Der Termin ist am 3. Mai', 'Der Termin ist am 4. Mai'],
    ['Встреча в Москве', 'Встреча в Казани'],
    ['الاجتماع يوم الأحد', 'الاجتماع يوم الاثنين'],
    ['Mood 😀', 'Mood 😡'],
  ])('in any language: %s', async (before, after) => {
    const memory = createTestNotes()
    const { id } = (await add(memory, [before])).added![0]!
    await add(memory, [{ text: after, replaces: id }])
    const { notes } = await memory({ verb: 'list', limit: 10 })
    expect(notes!.map(({ text }) => text)).toEqual([after])
  })

  test('is refused by the name of the field where there is no such note in its place', async () => {
    const memory = createTestNotes()
    const { id } = (await add(memory, ['Of the principal'])).added![0]!
    for (const [replaces, place] of [
      ['mem_none', 'principal'],
      [id, 'agent:scribe'],
    ] as const)
      await expect(add(memory, [{ text: 'New', replaces }], place)).rejects.toMatchObject({
        code: 'request_not_found',
        param: 'replaces',
      })
    expect((await memory({ verb: 'list', limit: 10 })).notes).toHaveLength(1)
  })

  test('C5: text that a stranger can have written replaces no note that no stranger can', async () => {
    const memory = createTestNotes()
    const { id } = (await add(memory, [{ text: 'Pay into account 1', ...mine }])).added![0]!
    const stranger = labelFrom('http__get example.com')
    for (const label of [{ label: stranger }, {}])
      await expect(
        add(memory, [{ text: 'Pay into account 666', replaces: id, ...label }]),
      ).rejects.toMatchObject({ code: 'tool_failed', param: 'replaces' })
    const { notes } = await memory({ verb: 'list', limit: 10 })
    expect(notes!.map(({ text }) => text)).toEqual(['Pay into account 1'])
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

describe('a forgotten note', () => {
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
  test('a note of one place is not found, read or forgotten from another', async () => {
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
