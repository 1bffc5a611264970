import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { switches } from '../switches/all.mjs'
import { withoutProtection } from '../switches/plugin.mjs'

const root = join(import.meta.dirname, '../..')

it('G16: every protection at a border of trust has a switch of its own', () => {
  const names = switches.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  expect(names.length).toBeGreaterThanOrEqual(60)
})

it.each(switches.map((one) => [one.name, one] as const))(
  'G16: %s is found once where it is said to be, and is gone when it is off',
  (_name, one) => {
    const text = readFileSync(join(root, one.file), 'utf8')
    expect(withoutProtection(text, one)).not.toBe(text)
    // What runs in production, and the command that an author gives a stranger's folder to.
    expect(one.file).toMatch(/^(src|cli)\//)
    expect(existsSync(join(root, one.test)), one.test).toBe(true)
  },
)
