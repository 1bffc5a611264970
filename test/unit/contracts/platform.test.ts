import { describe, expect, it } from 'vitest'
import { addUsage, zeroUsage, plusPlatform } from '../../../src/contracts/lease.ts'
import {
  cpuEstimate,
  platformCostNanoUsd,
  minusPlatform,
  platformUsage,
  usageBeyond,
} from '../../../src/runtime/session/types/platform-usage.ts'

describe("E9: the platform's bill", () => {
  it('costs what Cloudflare publishes for a million of each', () => {
    const million = 1_000_000
    expect(platformCostNanoUsd({ rowsWritten: million })).toBe(1e9)
    expect(platformCostNanoUsd({ rowsRead: million })).toBe(0.001e9)
    expect(platformCostNanoUsd({ alarms: million })).toBe(1e9)
    expect(platformCostNanoUsd({ requests: million })).toBe(0.15e9)
    expect(platformCostNanoUsd({ d1RowsWritten: million })).toBe(1e9)
    expect(platformCostNanoUsd({ d1RowsRead: million })).toBe(0.001e9)
    expect(platformCostNanoUsd({ kvReads: million })).toBe(0.5e9)
    expect(platformCostNanoUsd({ kvWrites: million })).toBe(5e9)
    expect(platformCostNanoUsd({ cpuMs: million })).toBe(0.02e9)
    // A million GB-s are as many seconds over 0.128.
    expect(platformCostNanoUsd({ activeMs: (million * 1_000) / 0.128 })).toBe(12.5e9)
  })

  it('is whole billionths, and is below zero for what is taken back', () => {
    expect(platformCostNanoUsd({ activeMs: 1 })).toBe(2)
    expect(platformCostNanoUsd({ rowsWritten: -2 })).toBe(-2_000)
  })

  it('adds up by unit, and says nothing of what is zero', () => {
    expect(plusPlatform({ rowsRead: 1, alarms: 1 }, { alarms: -1, requests: 2 })).toEqual({
      rowsRead: 1,
      requests: 2,
    })
    expect(minusPlatform({ rowsRead: 1 }, { rowsRead: 3 })).toEqual({ rowsRead: -2 })
  })

  it('estimates CPU by requests, turns and calls', () => {
    expect(cpuEstimate({ requests: 2, turns: 1, calls: 4 })).toEqual({ cpuMs: 9 })
  })

  it('returns to the run above with its usage, and reads as zero where nothing is said', () => {
    const child = { ...zeroUsage, tokens: 5, ...platformUsage({ rowsWritten: 3 }) }
    const own = { ...zeroUsage, ...platformUsage({ rowsWritten: 2, alarms: 1 }) }
    const { platform, platformNanoUsd } = addUsage(addUsage(zeroUsage, child), own)
    expect(platform).toEqual({ rowsWritten: 5, alarms: 1 })
    expect(platformNanoUsd).toBe(6_000)
    expect(addUsage(zeroUsage, zeroUsage)).toEqual(zeroUsage)
    expect(usageBeyond(addUsage(child, own), child).platform).toEqual({ rowsWritten: 2, alarms: 1 })
  })
})
