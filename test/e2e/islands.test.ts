import { execFile } from 'node:child_process'
import { expect, it } from 'vitest'

it('T5, G2: a plugin that spins or hoards takes a developer’s server along, which is back with all it acknowledged', async () => {
  const args = ['test/faults/islands.mjs', '--probes', '1', '--acknowledged', '4', '--seed', '5']
  const { error, output } = await new Promise<{ error: Error | null; output: string }>(
    (resolve) => {
      execFile(process.execPath, args, (failed, stdout, stderr) =>
        resolve({ error: failed, output: `${stderr}\n${stdout}`.trim() }),
      )
    },
  )
  expect(output).toContain('installed as community')
  expect(output.split('\n').at(-1), output).toMatch(/^probes 1 lost 0 back in max \d+ ms$/)
  expect(error).toBeNull()
}, 300_000)
