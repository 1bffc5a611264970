import { describe, expect, it } from 'vitest'
import { proseOfPage } from '../../../scripts/lint/prose.mjs'
import { refusedSubjects } from '../../../scripts/lint/subjects.mjs'

const wordsOf = (text: string) => refusedSubjects(text).map(({ word }) => word)

describe('a sentence', () => {
  it.each([
    ['Somebody reads it.', 'somebody'],
    ['It waits until nobody asks.', 'nobody'],
    ['The run goes on: everybody sees it.', 'everybody'],
    ['Refused, since anybody may call it.', 'anybody'],
    ['A page that someone made.', 'someone'],
    ['For the way of an answer to whoever asked.', 'whoever'],
    ['One that is known keeps its time.', 'one'],
    ['Each row is read. One is enough.', 'one'],
    ['Those that are here, and others.', 'those'],
    ['Those in force are read.', 'those'],
    ['Those of its first model call are kept.', 'those'],
    ['What is nothing is left out.', 'what is'],
    ['It is told later; what was said stays.', 'what was'],
  ])('is refused: %s', (text, word) => expect(wordsOf(text)).toEqual([word]))

  it.each([
    'The caller reads it.',
    'It is the key of somebody else.',
    "Somebody's key is not shown.",
    'Gives somebody a key.',
    'One session reads it. One of the rows is its own.',
    'Those rows are kept.',
    'At most one is open; the newest of those that are here.',
    'Says what is kept, and what was there.',
    'What is a run? A task.',
    'Whatever the plugin answers is text.',
  ])('passes: %s', (text) => expect(wordsOf(text)).toEqual([]))

  it('is found where it stands', () => {
    expect(refusedSubjects('A run ends. Nobody waits.')).toEqual([{ word: 'nobody', at: 12 }])
  })
})

describe('a page', () => {
  it('is read without code and addresses, by items, cells and headings', () => {
    const page = [
      '# What is kept',
      '`nobody` and [a link](nobody.md). The key of',
      'somebody is hidden.',
      '- somebody asks',
      '| run | nobody waits |',
      '```sh',
      'nobody',
      '```',
      '**Everybody** sees it.',
    ]
    const words = proseOfPage(page.join('\n'))
    expect(
      refusedSubjects(words).map(({ word, at }) => [word, words.slice(0, at).split('\n').length]),
    ).toEqual([
      ['somebody', 4],
      ['nobody', 5],
      ['everybody', 9],
    ])
  })
})
