import { execFile } from 'node:child_process'
import { expect, it } from 'vitest'

it('docs/design.md section 11: calls without a session name leave nothing behind on the disk after retention ran', async () => {
  const args = ['test/faults/retention.mjs', '--calls', '20']
  const { error, output } = await new Promise<{ error: Error | null; output: string }>(
    (resolve) => {
      execFile(process.execPath, args, (failed, stdout, stderr) =>
        resolve({ error: failed, output: `${stderr}\n${stdout}`.trim() }),
      )
    },
  )
  expect(output.split('\n').at(-1), output).toBe('calls 20 left 0')
  expect(error).toBeNull()
})
