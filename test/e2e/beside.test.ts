import { execFile } from 'node:child_process'
import { expect, it } from 'vitest'

it('B 1, B 2, B 6, H: while a long input is read others are answered, and 200 refused zips cost less than 100 MiB', async () => {
  const args = ['test/faults/beside.mjs', '--shapes', '12', '--seed', '31', '--zips', '200']
  const { error, output } = await new Promise<{ error: Error | null; output: string }>(
    (resolve) => {
      execFile(process.execPath, args, (failed, stdout, stderr) =>
        resolve({ error: failed, output: `${stderr}\n${stdout}`.trim() }),
      )
    },
  )
  expect(output.split('\n').at(-1), output).toMatch(/^shapes 12 held 0 zips 200 cost -?\d+ MiB$/)
  expect(error, output).toBeNull()
}, 480_000)
