# Installs the program of a release for Windows, without the rights of an administrator:
#   irm https://github.com/OWNER/gputexel/releases/latest/download/install.ps1 | iex
# Saved as a file, it takes -To FOLDER instead of ~\.local\bin, and -From URL for another release, such as
# https://github.com/OWNER/gputexel/releases/download/v0.1.0
# An archive whose checksum is not that of the release's SHA256SUMS is refused.
param(
    [string]$To = (Join-Path $HOME '.local\bin'),
    [string]$From = 'https://github.com/OWNER/gputexel/releases/latest/download'
)

# A scope of its own: preferences of the session that pipes this into iex stay as they are.
& {
    param([string]$To, [string]$From)
    $ErrorActionPreference = 'Stop'
    # Its bar makes downloads many times slower in Windows PowerShell.
    $ProgressPreference = 'SilentlyContinue'

    $target = 'x86_64-pc-windows-msvc'
    $work = Join-Path ([IO.Path]::GetTempPath()) "gputexel-$([Guid]::NewGuid())"
    New-Item -ItemType Directory $work | Out-Null
    try {
        $sums = Join-Path $work 'SHA256SUMS'
        Invoke-WebRequest "$From/SHA256SUMS" -OutFile $sums -UseBasicParsing
        $entry = "^([0-9a-f]{64}) [ *](gputexel-[0-9][0-9A-Za-z.+-]*-$target)\.zip$"
        $found = @(Select-String -Path $sums -Pattern $entry)
        if ($found.Count -ne 1) { throw "install.ps1: $From/SHA256SUMS has not one archive for $target" }
        $sum = $found[0].Matches[0].Groups[1].Value
        $name = $found[0].Matches[0].Groups[2].Value
        $archive = Join-Path $work "$name.zip"
        Write-Host "Downloading $name.zip"
        Invoke-WebRequest "$From/$name.zip" -OutFile $archive -UseBasicParsing
        if ((Get-FileHash $archive -Algorithm SHA256).Hash -ne $sum) {
            throw "install.ps1: $name.zip does not have the checksum of SHA256SUMS"
        }
        Expand-Archive $archive -DestinationPath $work
        New-Item -ItemType Directory -Force $To | Out-Null
        Move-Item -Force (Join-Path (Join-Path $work $name) 'gputexel.exe') (Join-Path $To 'gputexel.exe')
    }
    finally {
        Remove-Item -Recurse -Force $work
    }
    Write-Host "gputexel is in $To"
    if (($env:PATH -split [IO.Path]::PathSeparator) -notcontains $To) {
        Write-Host 'That is not in PATH; for programs started from now on:'
        Write-Host "  [Environment]::SetEnvironmentVariable('Path', '$To;' + [Environment]::GetEnvironmentVariable('Path', 'User'), 'User')"
    }
} $To $From
