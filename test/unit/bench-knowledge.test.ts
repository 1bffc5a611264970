import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import questions from '../../bench/knowledge/questions.json' with { type: 'json' }

const root = join(import.meta.dirname, '../..')

test('each question of the benchmark of documents is answered where it says, as the pages are now', () => {
  const gone = questions.filter(
    ({ document, says }) => !readFileSync(join(root, document), 'utf8').includes(says),
  )
  expect(gone).toEqual([])
})
