import { execFile } from 'node:child_process'
import { expect, it } from 'vitest'

it(
  'I16, E9: a session that is larger than the heap is opened, listed, paged, exported, continued and deleted',
  { timeout: 600_000 },
  async () => {
    const args = ['test/longlife/longlife.mjs', '--short']
    const { error, output } = await new Promise<{ error: Error | null; output: string }>(
      (resolve) => {
        execFile(process.execPath, args, (failed, stdout, stderr) =>
          resolve({ error: failed, output: `${stderr}\n${stdout}`.trim() }),
        )
      },
    )
    expect(output.split('\n').at(-1), output).toBe('longlife ok')
    expect(error).toBeNull()
  },
)
