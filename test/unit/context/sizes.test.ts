import { describe, expect, it } from 'vitest'
import { contextSettingsSchema } from '#contracts/context.ts'

describe('the shares of an agent', () => {
  it.each([
    [0.9, 0.8],
    [0.8, 0.7],
    [0.7, 0.6],
    [0.6, 0.5],
    [0.5, 0.4],
    [0.3, 0.2],
  ])('may be a tenth apart: from %d to %d', (start, target) => {
    expect(contextSettingsSchema.safeParse({ start, target }).success).toBe(true)
  })

  it('may not be nearer to each other', () => {
    const { error } = contextSettingsSchema.safeParse({ start: 0.5, target: 0.41 })
    expect(error?.issues[0]?.message).toBe('target must be at least 0.1 below start')
  })
})
