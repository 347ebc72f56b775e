! Encrypts an array of numbers with AES-GCM, and decrypts it again.
! Build and run:
!   gfortran paraes_example.f90 $(pkg-config --libs paraes) -o paraes_example
!   ./paraes_example

! What the program uses of paraes.h. type(*) takes arrays of any type as they are, without c_loc; it
! may not be intent(out). Sizes are in bytes.
module paraes
  use, intrinsic :: iso_c_binding, only: c_char, c_f_pointer, c_int, c_int8_t, c_ptr, c_size_t
  implicit none

  integer(c_int), parameter :: paraes_ok = 0
  integer(c_int), parameter :: paraes_integrity_error = 13

  interface
    function paraes_random_bytes(out, bytes) bind(C) result(code)
      import
      type(*), intent(inout) :: out(*)
      integer(c_size_t), value :: bytes
      integer(c_int) :: code
    end function

    function paraes_random_key(key, bytes) bind(C) result(code)
      import
      type(*), intent(inout) :: key(*)
      integer(c_size_t), value :: bytes
      integer(c_int) :: code
    end function

    subroutine paraes_wipe(data, bytes) bind(C)
      import
      type(*), intent(inout) :: data(*)
      integer(c_size_t), value :: bytes
    end subroutine

    ! execution: c_null_ptr for all defaults.
    function paraes_gcm_key_new(gcm, key, key_bytes, execution) bind(C) result(code)
      import
      type(c_ptr), intent(out) :: gcm
      type(*), intent(in) :: key(*)
      integer(c_size_t), value :: key_bytes
      type(c_ptr), value :: execution
      integer(c_int) :: code
    end function

    subroutine paraes_gcm_key_free(gcm) bind(C)
      import
      type(c_ptr), value :: gcm
    end subroutine

    function paraes_gcm_encrypt(gcm, nonce, nonce_bytes, aad, aad_bytes, in, bytes, out, tag) &
        bind(C) result(code)
      import
      type(c_ptr), value :: gcm
      type(*), intent(in) :: nonce(*), aad(*), in(*)
      integer(c_size_t), value :: nonce_bytes, aad_bytes, bytes
      type(*), intent(inout) :: out(*), tag(*)
      integer(c_int) :: code
    end function

    function paraes_gcm_decrypt(gcm, nonce, nonce_bytes, aad, aad_bytes, in, bytes, out, tag, &
        tag_bytes) bind(C) result(code)
      import
      type(c_ptr), value :: gcm
      type(*), intent(in) :: nonce(*), aad(*), in(*), tag(*)
      integer(c_size_t), value :: nonce_bytes, aad_bytes, bytes, tag_bytes
      type(*), intent(inout) :: out(*)
      integer(c_int) :: code
    end function

    function paraes_exit_status(code) bind(C) result(status)
      import
      integer(c_int), value :: code
      integer(c_int) :: status
    end function

    function c_error_message() bind(C, name="paraes_error_message") result(text)
      import
      type(c_ptr) :: text
    end function

    function c_strlen(text) bind(C, name="strlen") result(length)
      import
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function
  end interface

contains

  ! Of the last call that failed, a copy of what C has.
  function paraes_error_message() result(message)
    character(:), allocatable :: message
    character(kind=c_char), pointer :: text(:)
    type(c_ptr) :: place
    integer :: i
    place = c_error_message()
    call c_f_pointer(place, text, [c_strlen(place)])
    allocate(character(size(text)) :: message)
    do i = 1, size(text)
      message(i:i) = text(i)
    end do
  end function

end module

program paraes_example
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  use paraes
  implicit none

  integer, parameter :: n = 1000000
  integer(c_int8_t) :: key(32), other_key(32), nonce(12), tag(16)
  integer(c_int) :: step(1) = [1]  ! authenticated with the numbers, not encrypted
  real(c_double), allocatable :: numbers(:), decrypted(:)
  integer(c_int8_t), allocatable :: encrypted(:)
  type(c_ptr) :: gcm = c_null_ptr, other = c_null_ptr
  integer(c_size_t) :: bytes
  integer :: i

  bytes = n * c_sizeof(0.0_c_double)
  allocate(numbers(n), decrypted(n), encrypted(bytes))
  numbers = [(sqrt(real(i, c_double)), i = 1, n)]

  call check(paraes_random_key(key, c_sizeof(key)))
  call check(paraes_gcm_key_new(gcm, key, c_sizeof(key), c_null_ptr))
  call check(paraes_random_key(other_key, c_sizeof(other_key)))
  call check(paraes_gcm_key_new(other, other_key, c_sizeof(other_key), c_null_ptr))
  call paraes_wipe(key, c_sizeof(key))
  call paraes_wipe(other_key, c_sizeof(other_key))

  call check(paraes_random_bytes(nonce, c_sizeof(nonce)))  ! never twice under one key
  call check(paraes_gcm_encrypt(gcm, nonce, c_sizeof(nonce), step, c_sizeof(step), &
    numbers, bytes, encrypted, tag))
  call check(decrypt(gcm))
  print "(i0, a, l1)", bytes, " bytes; the same numbers: ", all(decrypted == numbers)

  if (decrypt(other) == paraes_integrity_error) then
    print "(2a)", "with another key: ", paraes_error_message()
  end if
  encrypted(1) = ieor(encrypted(1), 1_c_int8_t)
  if (decrypt(gcm) == paraes_integrity_error) then
    print "(2a)", "with a changed bit: ", paraes_error_message()
  end if
  print "(a, l1)", "nothing is left: ", all(decrypted == 0)

  call paraes_gcm_key_free(other)
  call paraes_gcm_key_free(gcm)

contains

  function decrypt(key_of) result(code)
    type(c_ptr), intent(in) :: key_of
    integer(c_int) :: code
    code = paraes_gcm_decrypt(key_of, nonce, c_sizeof(nonce), step, c_sizeof(step), &
      encrypted, bytes, decrypted, tag, c_sizeof(tag))
  end function

  subroutine check(code)
    integer(c_int), intent(in) :: code
    if (code == paraes_ok) return
    write (error_unit, "(a)") paraes_error_message()
    stop paraes_exit_status(code), quiet=.true.
  end subroutine

end program
