import { execFile } from 'node:child_process'
import { expect, it } from 'vitest'
import { isNightly } from '../setup/nightly.ts'

it('F4, G2: a server that is killed again and again loses nothing it acknowledged, and its runs go on by themselves', async () => {
  const load = isNightly
    ? ['--kills', '3', '--acknowledged', '150']
    : ['--kills', '2', '--acknowledged', '80']
  const args = ['test/faults/kills.mjs', ...load, '--seed', '7']
  const { error, output } = await new Promise<{ error: Error | null; output: string }>(
    (resolve) => {
      execFile(process.execPath, args, (failed, stdout, stderr) =>
        resolve({ error: failed, output: `${stderr}\n${stdout}`.trim() }),
      )
    },
  )
  expect(output).toMatch(/persistence is on, a loss is seen/)
  expect(output.split('\n').at(-1), output).toMatch(/^kills 2 acknowledged \d+ lost 0$/)
  expect(error).toBeNull()
})
