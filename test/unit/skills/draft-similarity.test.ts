import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { nearlySame, similarity, sketchOf } from '../../../src/features/skills/drafts/emit-skill.ts'

const folder = join(import.meta.dirname, '../../../skills')
const shipped = readdirSync(folder).map((name) => {
  const text = readFileSync(join(folder, name, 'SKILL.md'), 'utf8')
  return { name, body: text.replace(/^---[^]*?\n---\n/, '') }
})
const alike = (one: string, other: string) => similarity(sketchOf(one), sketchOf(other))

/** Every so many-th word is another one. */
const reworded = (text: string, every: number) => {
  let at = 0
  return text.replaceAll(/[\p{L}\p{N}]+/gu, (word) => (++at % every === 0 ? `other${at}` : word))
}
const withoutLines = (text: string, every: number) =>
  text
    .split('\n')
    .filter((_, at) => at % every !== every - 1)
    .join('\n')

const deploy = `Deploy the service.

1. Run the tests with npm test, and stop at the first failure.
2. Bump the version in package.json and commit it as a release.
3. Push the tag; the pipeline builds the image and puts it on staging.
4. Look at the health page of staging for five minutes, then promote the image.
5. Tell the channel which version is live.`

describe('how alike two texts are', () => {
  it.each([
    [
      'a second writing of the same way',
      deploy,
      deploy
        .replace('stop at the first failure', 'stop if one fails')
        .replace('Tell the channel', 'Say in the channel'),
    ],
    ['other marks and capitals', deploy, deploy.toUpperCase().replaceAll(/[.,;]/g, ' -')],
    ['other spelling of the same letters', 'Ｄｅｐｌｏｙ the café now', 'deploy the café now'],
    ['a step more', deploy, `${deploy}\n6. Close the release ticket.`],
    ['words without blanks between them', '先运行测试然后发布新版本', '先运行测试然后发布新的版本'],
  ])('takes %s for nearly the same', (_what, one, other) => {
    expect(alike(one, other)).toBeGreaterThanOrEqual(nearlySame)
  })

  it.each([
    [
      'another way for the same kind of task',
      deploy,
      'Deploy with the console: open the project, choose the branch, press Deploy, wait until the bar is green, and write the version into the log.',
    ],
    ['nothing at all', '', ''],
    ['no words', '...', '!!!'],
    ['the same words in another order', 'one two three four five', 'five three one four two'],
  ])('takes %s for another', (_what, one, other) => {
    expect(alike(one, other)).toBeLessThan(nearlySame)
  })

  it('takes each skill that ships for itself, also edited, and no two for the same', () => {
    for (const [at, { body }] of shipped.entries()) {
      expect(alike(body, body)).toBe(1)
      expect(alike(body, withoutLines(reworded(body, 12), 10))).toBeGreaterThanOrEqual(nearlySame)
      for (const other of shipped.slice(at + 1))
        expect([other.name, alike(body, other.body) < nearlySame / 2]).toEqual([other.name, true])
    }
  })

  it('is the same whichever comes first, and near the whole count where a text is longer than its sketch', () => {
    const pairsOf = (text: string) => {
      const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
      return new Set(words.slice(1).map((word, at) => `${words[at]} ${word}`))
    }
    for (const { body } of shipped) {
      const other = reworded(body, 9)
      const [left, right] = [pairsOf(body), pairsOf(other)]
      const both = [...left].filter((pair) => right.has(pair)).length
      const exact = both / (left.size + right.size - both)
      expect(alike(body, other)).toBe(alike(other, body))
      expect(Math.abs(alike(body, other) - exact)).toBeLessThan(0.12)
    }
  })
})
