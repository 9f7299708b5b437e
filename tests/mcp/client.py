"""The official Python client (`pip install mcp`) against `inglenook mcp`, or a running `inglenook serve`, in every era that it knows.

    python3 tests/mcp/client.py target/release/inglenook
    python3 tests/mcp/client.py http://127.0.0.1:8462/mcp TOKEN

Version 2 of the package speaks revision 2026-07-28 and the handshake before it, version 1 the handshake alone. Over pipes each era gets a
home of its own; the client checks every structured result against the tool's output schema. Prints a line for each era; exit
code 1 if anything is not as it should be, 77 without the package.
"""

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile

try:
    import mcp
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client
except ImportError as error:
    print(f"the package `mcp` is not there: {error}")
    sys.exit(77)

URL, TOKEN = sys.argv[1:3] if len(sys.argv) == 3 else (None, None)
PROGRAM = os.path.abspath(sys.argv[1])
READS = {"recall", "search", "fetch", "recent", "themes", "why"}


def attribute(value, *names):
    """Version 2 of the package writes snake_case, version 1 the protocol's own names."""
    return next(getattr(value, name) for name in names if hasattr(value, name))


async def call(session, tool, **arguments):
    result = await session.call_tool(tool, arguments)
    assert not attribute(result, "is_error", "isError"), (tool, result)
    structured = attribute(result, "structured_content", "structuredContent")
    assert structured is not None and result.content[0].text, (tool, result)
    return structured, result.content[0].text


async def use(session):
    """What an agent does: look, note, recall, ask why, forget."""
    tools = {tool.name: tool for tool in (await session.list_tools()).tools}
    assert set(tools) == READS | {"remember", "forget"}, tools
    for name, tool in tools.items():
        reads = attribute(tool.annotations, "read_only_hint", "readOnlyHint")
        assert reads == (name in READS), (name, tool.annotations)
    assert attribute(tools["forget"].annotations, "destructive_hint", "destructiveHint")

    noted, _ = await call(session, "remember", text="Ida is allergic to hazelnuts.")
    assert noted["origin"] == "an agent" and noted["is_new"], noted
    found, text = await call(session, "recall", question="What is Ida allergic to?", budget_tokens=300)
    assert "hazelnuts" in found["memories"] and "hazelnuts" in text, found
    assert found["evidence"][0]["origin"] == "an agent", found
    found, _ = await call(session, "search", query="hazelnuts")
    # A server's worker may have made a fact of it already.
    assert noted["id"] in [result["id"] for result in found["results"]], found
    whole, _ = await call(session, "fetch", id=noted["id"])
    assert whole["text"] == "Ida is allergic to hazelnuts.", whole
    await call(session, "why", id=noted["id"])
    await call(session, "recent")
    await call(session, "themes")
    listed = await session.list_resources()
    read = await session.read_resource(listed.resources[0].uri)
    assert read.contents, read
    assert len(attribute(await session.list_resource_templates(), "resource_templates", "resourceTemplates")) == 2

    wrong = await session.call_tool("recall", {"question": 3})
    assert attribute(wrong, "is_error", "isError") and "question" in wrong.content[0].text, wrong
    for failing in (session.call_tool("nothing", {}), session.read_resource("inglenook://theme/t99")):
        try:
            got = await failing
        except Exception as error:
            assert "nothing" in str(error) or "t99" in str(error), error
        else:
            raise AssertionError(got)

    planned, _ = await call(session, "forget", id=noted["id"])
    assert not planned["erased"] and "hazelnuts" in planned["plan"], planned
    done, _ = await call(session, "forget", id=noted["id"], confirm=planned["confirm"])
    assert done["erased"], done
    found, _ = await call(session, "recall", question="What is Ida allergic to?")
    assert found["evidence"] == [], found


@contextlib.asynccontextmanager
async def server():
    """What a client of version 2 connects to."""
    if URL:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60) as client:
            yield streamable_http_client(URL, http_client=client)
    else:
        with tempfile.TemporaryDirectory() as home:
            yield pipes(home)


@contextlib.asynccontextmanager
async def streams():
    """What a session of version 1 reads and writes."""
    if URL:
        from mcp.client.streamable_http import streamablehttp_client

        async with streamablehttp_client(URL, headers={"Authorization": f"Bearer {TOKEN}"}) as (read, write, _):
            yield read, write
    else:
        with tempfile.TemporaryDirectory() as home:
            async with stdio_client(pipes(home)) as (read, write):
                yield read, write


def pipes(home):
    environment = {"INGLENOOK_HOME": home, "PATH": os.environ["PATH"], "HOME": home}
    return StdioServerParameters(command=PROGRAM, args=["mcp"], env=environment)


async def main():
    version = getattr(mcp, "__version__", None) or __import__("importlib.metadata").metadata.version("mcp")
    eras = []
    if hasattr(mcp, "Client"):
        for mode in ("auto", "2026-07-28", "legacy"):
            async with server() as place, mcp.Client(place, mode=mode) as client:
                assert (client.protocol_version == "2026-07-28") == (mode != "legacy"), client.protocol_version
                await use(client)
                eras.append(f"{mode} ({client.protocol_version})")
    else:
        async with streams() as (read, write), ClientSession(read, write) as session:
            hello = await session.initialize()
            assert hello.serverInfo.name == "inglenook" and hello.instructions, hello
            await session.send_ping()
            await use(session)
            eras.append(f"handshake ({hello.protocolVersion})")
    print(f"mcp {version}: {', '.join(eras)}: as it should be")


if __name__ == "__main__":
    if not URL and subprocess.run([PROGRAM, "--version"], stdout=subprocess.DEVNULL).returncode != 0:
        sys.exit(f"{PROGRAM} does not run")
    asyncio.run(main())
