import { execFile } from 'node:child_process'
import { expect, it } from 'vitest'
import { isNightly } from '../setup/nightly.ts'

it('F17, T20, G13: a request that is sent ten times takes effect once and is answered alike each time', async () => {
  const args = ['test/faults/retries.mjs', '--requests', isNightly ? '350' : '150', '--seed', '7']
  const { error, output } = await new Promise<{ error: Error | null; output: string }>(
    (resolve) => {
      execFile(process.execPath, args, (failed, stdout, stderr) =>
        resolve({ error: failed, output: `${stderr}\n${stdout}`.trim() }),
      )
    },
  )
  expect(output.split('\n').at(-1), output).toMatch(
    /^retries \d+ effects-doubled 0 replies-differing 0$/,
  )
  expect(error).toBeNull()
})
