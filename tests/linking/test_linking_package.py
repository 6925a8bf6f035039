"""Fetching packages from an index on loopback: what is kept, and what is refused with a clear sentence."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from package_index import PROTOCOL, SMALL, PackageIndex, linked_zip, sdist, wheel

from llmdebug.index.build import Cancelled
from llmdebug.linking import package, shelf
from llmdebug.linking.linked import at_hand, fetched
from llmdebug.linking.package import fetch_package
from llmdebug.linking.sdist import unpack_tar
from llmdebug.linking.spec import SourceError, Spec, parse_spec
from llmdebug.linking.unpack import Unpacking
from llmdebug.linking.wheel import unpack_zip

SPEC = Spec(scheme="pypi", name="served", version="1.0")
WHEEL = "served-1.0-py3-none-any.whl"
SDIST = "served-1.0.tar.gz"


def kept_files() -> set[str]:
    tree = shelf.tree_of(SPEC)
    return {path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.is_file()}


def test_a_wheel_is_kept_as_source_only_and_serves_without_a_network(index: PackageIndex) -> None:
    index.files[WHEEL] = wheel(SMALL)
    made = fetch_package(SPEC)
    assert kept_files() == {"served/__init__.py", "served/protocol.py", "served-1.0.dist-info/METADATA"}
    assert made.checked == "the index's sha256 of the whole archive" and shelf.damage(SPEC) == []
    index.files.clear()
    asked = len(index.requests)
    assert fetched("pypi:served==1.0").folder == str(shelf.tree_of(SPEC))
    assert len(index.requests) == asked


def test_a_wheel_is_preferred_to_an_sdist_and_the_exact_version_is_taken(index: PackageIndex) -> None:
    index.files["served-2.0-py3-none-any.whl"] = wheel(SMALL, version="2.0")
    index.files[SDIST] = sdist({"served-1.0/served/protocol.py": b"sdist"})
    index.files["served-1.0-cp38-cp38-win32.whl"] = wheel(SMALL)
    assert fetch_package(SPEC).origin.endswith("win32.whl")


def test_no_code_of_an_sdist_runs(index: PackageIndex, tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    setup = f"open({str(proof)!r}, 'w')\nfrom setuptools import setup\nsetup(name='served', version='1.0')\n".encode()
    backend = f"open({str(proof)!r}, 'w')\n".encode()
    index.files[SDIST] = sdist(
        {
            "served-1.0/setup.py": setup,
            "served-1.0/pyproject.toml": b'[build-system]\nrequires=[]\nbuild-backend="own"\nbackend-path=["."]\n',
            "served-1.0/own.py": backend,
            "served-1.0/conftest.py": backend,
            "served-1.0/served/__init__.py": backend,
        }
    )
    made = fetch_package(SPEC)
    assert made.count == 5 and {"setup.py", "served/__init__.py"} <= kept_files()
    assert not proof.exists()


def test_large_wheels_are_read_in_parts(index: PackageIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "WHOLE_BYTES", 100_000)
    index.ranges = True
    index.files[WHEEL] = wheel({**SMALL, "served/big.so": os.urandom(6_000_000)})
    made = fetch_package(SPEC)
    assert made.checked.startswith("the wheel's own list")
    assert (shelf.tree_of(SPEC) / "served/protocol.py").read_bytes() == PROTOCOL
    pieces = [wanted for path, wanted in index.requests if path.endswith(".whl") and wanted != "bytes=0-"]
    assert 1 <= len(pieces) <= 5


def test_a_server_without_ranges_gives_the_whole_file(index: PackageIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "WHOLE_BYTES", 10)
    index.files[WHEEL] = wheel(SMALL)
    assert fetch_package(SPEC).checked.startswith("the index's sha256")


def no_such_version(index: PackageIndex) -> None:
    index.files["served-1.1-py3-none-any.whl"] = wheel(SMALL, version="1.1")


def lying_hash(index: PackageIndex) -> None:
    index.files[WHEEL], index.hashes[WHEEL] = wheel(SMALL), "0" * 64


def truncated(index: PackageIndex) -> None:
    index.files[WHEEL], index.cut = wheel(SMALL), 20


def lying_record(index: PackageIndex) -> None:
    index.files[WHEEL] = wheel(SMALL, record={"served/protocol.py": b"other"})


def unlisted(index: PackageIndex) -> None:
    out = io.BytesIO(wheel(SMALL))
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("served/extra.py", "1")
    index.files[WHEEL] = out.getvalue()


def no_zip(index: PackageIndex) -> None:
    index.files[WHEEL] = b"<html>please log in</html>"


def leading_out(index: PackageIndex) -> None:
    index.files[WHEEL] = wheel({**SMALL, "served/../../evil.py": b"1"})


def leading_out_of_tar(index: PackageIndex) -> None:
    index.files[SDIST] = sdist({"served-1.0/a.py": b"1", "/etc/evil.py": b"1"})


def twice(index: PackageIndex) -> None:
    index.files[SDIST] = sdist({"served-1.0/a.py": b"1", "served-1.0/./a.py": b"2"})


def file_as_folder(index: PackageIndex) -> None:
    index.files[SDIST] = sdist({"served-1.0/a.py": b"1", "served-1.0/a.py/b.py": b"2"})


def nothing_to_read(index: PackageIndex) -> None:
    index.files[WHEEL] = wheel({"served/big.so": b"1"}).replace(b"METADATA", b"NOTADATA")


def odd_archive(index: PackageIndex) -> None:
    index.files["served-1.0.tar.Z"] = b"1"


@pytest.mark.parametrize(
    ("prepare", "told"),
    [
        (no_such_version, "served has no version 1.0 at http://127.0.0.1"),
        (lying_hash, "where the index says 0000000000000000…"),
        (truncated, "the download broke off"),
        (lying_record, "'served/protocol.py' is not what its list of files says"),
        (unlisted, "'served/extra.py' is not in its list of files"),
        (no_zip, "it is no sound zip archive"),
        (leading_out, "its member 'served/../../evil.py' leads out of it"),
        (leading_out_of_tar, "its member '/etc/evil.py' leads out of it"),
        (twice, "it holds 'served-1.0/a.py' twice"),
        (file_as_folder, "'served-1.0/a.py/b.py' cannot be written"),
        (nothing_to_read, "holds no source file"),
        (odd_archive, "served is not to be had from http://127.0.0.1"),
    ],
)
def test_a_bad_archive_is_refused_in_one_sentence(
    index: PackageIndex, tmp_path: Path, prepare: Callable[[PackageIndex], None], told: str
) -> None:
    prepare(index)
    with pytest.raises(SourceError) as refused:
        fetch_package(SPEC)
    assert told in str(refused.value) and "\n" not in str(refused.value)
    assert shelf.all_kept() == [] and list((tmp_path / "cache" / "sources").iterdir()) == []
    assert not list(tmp_path.rglob("evil.py"))


def test_links_are_left_out_and_counted(index: PackageIndex) -> None:
    index.files[WHEEL] = linked_zip("served/passwords.py", "/etc/passwd")
    assert fetch_package(SPEC).left_out == 1
    shelf.remove(SPEC)
    index.files = {SDIST: sdist({"served-1.0/a.py": b"1"}, links={"served-1.0/b.py": "/etc/passwd"})}
    assert fetch_package(SPEC).left_out == 1 and kept_files() == {"a.py"}


def test_a_bomb_that_says_what_it_is_leaves_out_and_one_that_lies_is_refused(index: PackageIndex) -> None:
    honest = wheel({**SMALL, "served/bomb.py": bytes(50_000_000)})
    index.files[WHEEL] = honest
    assert fetch_package(SPEC).left_out == 1
    shelf.remove(SPEC)
    index.files[WHEEL] = honest.replace((50_000_000).to_bytes(4, "little"), (1_000).to_bytes(4, "little"))
    with pytest.raises(SourceError, match="is not used"):
        fetch_package(SPEC)


def test_a_tar_header_that_claims_gigabytes_is_refused(index: PackageIndex) -> None:
    import tarfile

    member = tarfile.TarInfo("served-1.0/pax")
    member.type, member.size = tarfile.XHDTYPE, 3_000_000_000
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        assert archive.fileobj is not None
        archive.fileobj.write(member.tobuf(tarfile.USTAR_FORMAT))
        for _ in range(20):
            archive.fileobj.write(bytes(1_000_000))
    index.files[SDIST] = out.getvalue()
    with pytest.raises(SourceError, match="larger than all headers"):
        fetch_package(SPEC)


def test_a_file_that_changes_while_it_is_read_in_parts_is_refused(
    index: PackageIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(package, "WHOLE_BYTES", 100_000)
    index.ranges = index.changing = True
    index.files[WHEEL] = wheel({**SMALL, "served/big.so": os.urandom(3_000_000)})
    with pytest.raises(SourceError, match="answered 200 where bytes"):
        fetch_package(SPEC)


def test_ranges_that_are_cut_off_are_refused(index: PackageIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "WHOLE_BYTES", 100_000)
    index.ranges, index.cut = True, 5
    index.files[WHEEL] = wheel({**SMALL, "served/big.so": os.urandom(3_000_000)})
    with pytest.raises(SourceError, match="the download broke off"):
        fetch_package(SPEC)


def test_a_cache_that_cannot_be_written_is_told(
    index: PackageIndex, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("LLMDEBUG_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(
        SourceError, match=r"cannot be used: Not a directory\. Name another folder with LLMDEBUG_CACHE_DIR"
    ):
        fetch_package(SPEC)
    with pytest.raises(SourceError, match="cannot be used"):
        shelf.all_kept()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_cache_without_rights_is_told(index: PackageIndex, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir(mode=0o500)
    with pytest.raises(SourceError, match="Permission denied"):
        fetch_package(SPEC)


def test_an_index_that_is_not_there_is_told(index: PackageIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:1/simple")
    with pytest.raises(SourceError, match=r"served is not to be had from http://127.0.0.1:1/simple \(.*refused"):
        fetch_package(SPEC)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(SourceError, match="names no index"):
        fetch_package(SPEC)


def test_a_plain_index_elsewhere_is_not_asked(index: PackageIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://me:key@index.invalid/simple")
    with pytest.raises(SourceError, match="neither https nor a trusted-host") as refused:
        fetch_package(SPEC)
    assert "key" not in str(refused.value)


def test_fetching_can_be_cancelled(index: PackageIndex) -> None:
    index.files[WHEEL] = wheel(SMALL)
    with pytest.raises(Cancelled):
        fetch_package(SPEC, cancelled=lambda: True)
    assert shelf.all_kept() == []


def test_folders_of_archives_serve_as_an_index(
    index: PackageIndex, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / WHEEL).write_bytes(wheel(SMALL))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    assert fetch_package(SPEC).checked == "no hash: the index gives none"


def test_verifying_names_what_was_changed(index: PackageIndex) -> None:
    index.files[WHEEL] = wheel(SMALL)
    fetch_package(SPEC)
    tree = shelf.tree_of(SPEC)
    (tree / "served/protocol.py").write_bytes(b"other")
    (tree / "served/__init__.py").unlink()
    (tree / "served/new.py").touch()
    assert sorted(shelf.damage(SPEC)) == [
        "served/__init__.py is missing",
        "served/new.py was added",
        "served/protocol.py was changed",
    ]


def test_a_damaged_entry_is_made_anew(index: PackageIndex) -> None:
    index.files[WHEEL] = wheel(SMALL)
    fetch_package(SPEC)
    (shelf.tree_of(SPEC).parent / "source.json").write_text("junk")
    fetch_package(SPEC)
    assert shelf.damage(SPEC) == []


def test_a_folder_inside_serves_as_the_tree(index: PackageIndex) -> None:
    index.files[WHEEL] = wheel(SMALL)
    link = fetched("pypi:served==1.0#served")
    assert link.folder == str(shelf.tree_of(SPEC) / "served") and link.name == "pypi:served==1.0#served"
    assert at_hand("pypi:Served==1.0") == fetched("pypi:served==1.0")


@pytest.mark.parametrize(
    "text",
    [
        "pypi:", "pypi:a", "pypi:a==", "pypi:a>=1", "pypi:-e==1", "pypi:a==1; os_name", "pypi:a==../..", "git:x@v1",
        "git:ext::sh -c true@v1", "git:https://h/r", "git:https://h/r@-x", "git:https://h/r@a..b", "git:file://h@v1",
        "git:--upload-pack=x@v", "pypi:a==1#../x", "pypi:a==1#/etc", "pypi:a==1\n", "pypi:" + "a" * 2_000 + "==1",
    ],
)  # fmt: skip
def test_a_wrong_name_is_told(text: str) -> None:
    with pytest.raises(SourceError):
        parse_spec(text)


@given(st.text(max_size=60))
def test_any_text_is_a_name_or_told(text: str) -> None:
    for scheme in ("pypi:", "git:", "git:https://", ""):
        try:
            spec = parse_spec(scheme + text)
        except SourceError:
            continue
        assert spec is None or (parse_spec(str(spec)) == spec or "@" in spec.name)


def test_credentials_are_not_kept() -> None:
    spec = parse_spec("git:https://me:key@host/repo@v1")
    assert spec is not None and str(spec) == "git:https://host/repo@v1" and "key" in spec.base
    assert str(parse_spec("git:ssh://git@host/repo@v1")) == "git:ssh://git@host/repo@v1"


@given(st.binary(max_size=400), st.integers(0, 600))
def test_broken_archives_are_refused(noise: bytes, place: int) -> None:
    import tempfile

    for suffix, whole in ((".whl", wheel(SMALL)), (".tar.gz", sdist({"s-1/a.py": b"1" * 50})), (".tar", b"")):
        broken = whole[:place] + noise + whole[place + len(noise) :]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / f"x{suffix}"
            file.write_bytes(broken)
            unpacking = Unpacking("x", Path(folder) / "tree", lambda *_: None, lambda: False)
            try:
                if suffix == ".whl":
                    unpack_zip(io.BytesIO(broken), len(broken), unpacking)
                else:
                    unpack_tar(file, unpacking)
            except SourceError:
                continue


def test_who_comes_second_takes_what_is_there(index: PackageIndex) -> None:
    index.files[WHEEL] = wheel(SMALL)
    first = fetch_package(SPEC)
    index.files[WHEEL] = wheel({**SMALL, "served/more.py": b"1"})
    assert fetch_package(SPEC) == first and shelf.damage(SPEC) == []


def test_what_killed_processes_left_is_swept_after_a_day(index: PackageIndex) -> None:
    index.files[WHEEL] = wheel(SMALL)
    folder = shelf.shelf_folder()
    for name, age in (("old", 2 * shelf.STALE_S), ("new", 0)):
        (folder / f".part-{name}" / "tree").mkdir(parents=True)
        then = (folder / f".part-{name}").stat().st_mtime - age
        os.utime(folder / f".part-{name}", (then, then))
    fetch_package(SPEC)
    assert sorted(place.name for place in folder.iterdir() if place.name.startswith(".part")) == [".part-new"]
    assert [kept.spec for _, kept in shelf.all_kept()] == ["pypi:served==1.0"]
