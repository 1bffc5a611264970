import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { confirm } from '../../../cli/confirm.ts'

/** Asks with these keys typed, and keeps all that the terminal shows. */
async function asked(question: string, keys: string) {
  let shown = ''
  const stdin = Object.assign(new PassThrough(), { isTTY: true })
  stdin.write(keys)
  const stderr = { isTTY: true, write: (text: string) => void (shown += text) }
  return { answer: await confirm(question, { stdin, stderr }), shown }
}

it.each([
  ['y', true],
  ['Y', true],
  ['n', false],
  ['\r', false],
  ['\u0003', false],
  ['\u001b', false],
  ['\u0004', false],
])('answers %j with %j, and shows the cursor again', async (keys, answer) => {
  const done = await asked('Delete it?', keys)
  expect(done.answer).toBe(answer)
  expect(done.shown.lastIndexOf('\u001b[?25h')).toBeGreaterThan(done.shown.indexOf('\u001b[?25l'))
})

it('writes a long text whole and once, above the question', async () => {
  const text = Array.from({ length: 90 }, (_, line) => `line ${line} ${'x'.repeat(200)}`).join('\n')
  const { shown } = await asked(`${text}\nLet it run?`, 'y')
  expect(shown.startsWith(`${text}\n`)).toBe(true)
  expect(shown.split('line 7 ')).toHaveLength(2)
})
