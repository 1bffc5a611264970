import { execFile } from 'node:child_process'
import { expect, it } from 'vitest'

it(
  'P29, I12: a session that outgrows its window many times fails no run, also where the server is killed inside a compaction',
  { timeout: 600_000 },
  async () => {
    const args = ['test/longlife/window.mjs', '--short']
    const { error, output } = await new Promise<{ error: Error | null; output: string }>(
      (resolve) => {
        execFile(process.execPath, args, (failed, stdout, stderr) =>
          resolve({ error: failed, output: `${stderr}\n${stdout}`.trim() }),
        )
      },
    )
    expect(output.split('\n').at(-1), output).toBe('window ok')
    expect(error).toBeNull()
  },
)
